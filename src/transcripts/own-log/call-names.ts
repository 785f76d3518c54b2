import { type CallRef, callKey } from '../../core/messages.ts';

/** Names calls for a screen: `<evaluationId>/<turn>/<callId>`, and `#2`, … for an id that a provider repeated (D11, D46). */
export class CallNames {
  /** How many calls have each plain name. */
  readonly #counts = new Map<string, number>();

  /** Names a call that is being recorded. */
  add(call: CallRef): string {
    const name = callKey(call);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return numbered(name, count);
  }

  /** The name of the newest call with this identity: the call of a result. */
  find(call: CallRef): string {
    const name = callKey(call);
    return numbered(name, this.#counts.get(name) ?? 1);
  }
}

function numbered(name: string, count: number): string {
  return count === 1 ? name : `${name}#${count}`;
}
