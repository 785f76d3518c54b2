import {
  type CallRef,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolCall,
  type ToolMessage,
} from '../log/messages.ts';

/**
 * The pairing of calls with their results, for every reader of messages. Call ids repeat, between turns and even in one response (D11),
 * so a result belongs to the nearest assistant message before it, and there to the first call of its id that has no result yet:
 *
 *     assistant: a, b, a     a result of a ─▶ the first call · the next one of a ─▶ the third · one more ─▶ no call
 *
 * A result that no nearest message asked for is a stray. It belongs to the call of the same evaluation, turn and id, wherever that stands.
 */

/** The calls of one assistant message that the loop runs, and the results that a reader gives to them: messages, or where they stand. */
export class AskedCalls<Result> {
  readonly calls: readonly ToolCall[];
  /** By call: its result. */
  readonly results: (Result | undefined)[] = [];
  /** How many calls have a result. */
  resultCount = 0;

  constructor(calls: readonly ToolCall[]) {
    this.calls = calls;
  }

  /** Gives a result to the first call of this id that has none. Returns the index of that call, or -1 when there is none. */
  addResult(callId: string, result: Result): number {
    const { calls, results } = this;
    // Nearly always results come in call order.
    const isNext = results.length === this.resultCount && calls[this.resultCount]?.callId === callId;
    const index = isNext
      ? this.resultCount
      : calls.findIndex((call, i) => call.callId === callId && results[i] === undefined);
    if (index < 0) return index;
    results[index] = result;
    this.resultCount++;
    return index;
  }

  /** Whether a call has this id, with or without a result. */
  has(callId: string): boolean {
    return this.calls.some((call) => call.callId === callId);
  }

  /** The calls without a result. */
  missing(): readonly ToolCall[] {
    return this.calls.filter((_, i) => this.results[i] === undefined);
  }

  /** The results that there are, in call order. */
  inOrder(): readonly Result[] {
    return this.results.filter((result) => result !== undefined);
  }
}

/** Whether a message makes this call. */
export function makesCall(message: ConversationMessage, callId: string): boolean {
  return callsOf(message).some((call) => call.callId === callId);
}

/** Results that follow no message that made their call: a list was cut, or a response was recorded in pieces. */
export class StrayResults {
  readonly #byCall = new Map<string, ToolMessage[]>();

  add(result: ToolMessage): void {
    const key = keyOf(result, result.toolCallId);
    const known = this.#byCall.get(key);
    if (known) known.push(result);
    else this.#byCall.set(key, [result]);
  }

  /** Gives the calls of a message that have no result the strays that belong to them. */
  giveTo(message: Omit<CallRef, 'callId'>, asked: AskedCalls<ToolMessage>): void {
    if (this.#byCall.size === 0) return;
    for (const { callId } of asked.missing()) {
      const stray = this.#byCall.get(keyOf(message, callId))?.shift();
      if (stray) asked.addResult(callId, stray);
    }
  }

  /** The results that no call took. */
  left(): readonly ToolMessage[] {
    return [...this.#byCall.values()].flat();
  }
}

function keyOf({ evaluationId, turn }: Omit<CallRef, 'callId'>, callId: string): string {
  return callKey({ evaluationId, turn, callId });
}

/** Results in the order of their calls; results without a call follow at the end. */
export function inCallOrder(calls: readonly ToolCall[] = [], results: readonly ToolMessage[]): readonly ToolMessage[] {
  const asked = new AskedCalls<ToolMessage>(calls);
  const others = results.filter((result) => asked.addResult(result.toolCallId, result) < 0);
  return [...asked.inOrder(), ...others];
}
