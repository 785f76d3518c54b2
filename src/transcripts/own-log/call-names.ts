import { type CallRef, callKey } from '../../core/messages.ts';

/** Names calls for a screen: `<evaluationId>/<turn>/<callId>`, and `#2`, … for one that a provider repeated (D11, D46). */
export class CallNames {
  /** How often a call was named, by its plain name. */
  readonly #counts = new Map<string, number>();

  /** The name of a call that is being recorded. */
  add(call: CallRef): string {
    const name = callKey(call);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return numbered(name, count);
  }

  /** The name of the newest call of this identity: the one that a result belongs to. */
  find(call: CallRef): string {
    const name = callKey(call);
    return numbered(name, this.#counts.get(name) ?? 1);
  }
}

function numbered(name: string, count: number): string {
  return count === 1 ? name : `${name}#${count}`;
}
