import {
  type AssistantMessage,
  type CallRef,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolMessage,
} from '../core/messages.ts';
import { asks, isAddition, isBlank, isVersionOf, Origin } from './origin.ts';

/**
 * Whether a provider could read a list of messages: each call has its result, each result its call, in call order, directly
 * after the message that asked. With the conversation the list was made from, also: nothing moved, nothing invented, the
 * leading system messages still there.
 *
 * A result pairs with the nearest assistant message before it, because call ids repeat (D11). A call that the provider ran
 * itself has no result message. A message marked synthetic was made by a manager and is checked for pairing only (D56).
 */

/** One rule that a list of messages breaks, and what `repairCoherence` does about it. */
export interface Violation {
  readonly code:
    | 'call-without-result'
    | 'result-without-call'
    | 'result-out-of-order'
    | 'duplicate-result'
    | 'system-lost'
    | 'reordered'
    | 'invented'
    | 'empty-content';
  /** Where in the checked list; its length when what is missing would come last. */
  readonly index: number;
  readonly callId?: string;
  /** The repair, as a sentence. */
  readonly repair: string;
}

export interface CoherenceOptions {
  /** The conversation that the messages were selected from. */
  readonly original?: readonly ConversationMessage[];
}

/** What a check found: `ok` when there is no violation; they come by index. */
export interface Coherence {
  readonly ok: boolean;
  readonly violations: readonly Violation[];
}

/** Checks pairing and order and, against `original`, that nothing was moved, invented or lost that must stay (D32). */
export function checkCoherence(messages: readonly ConversationMessage[], options: CoherenceOptions = {}): Coherence {
  return check(messages, options.original && new Origin(options.original));
}

/**
 * The same messages made coherent, deterministically, and what had to be mended. With nothing to mend the same array comes
 * back. What was dropped stays dropped, unless a call would be left without its result.
 */
export function repairCoherence(
  messages: readonly ConversationMessage[],
  options: CoherenceOptions = {},
): { readonly messages: readonly ConversationMessage[]; readonly violations: readonly Violation[] } {
  return repair(messages, options.original && new Origin(options.original));
}

const missing = new WeakMap<AssistantMessage, Map<string, ToolMessage>>();

/** A result for a call that has none, so that the request can be read; it says what it is. The same object each time. */
export function missingResult(
  asking: AssistantMessage,
  call: { readonly callId: string; readonly name: string },
): ToolMessage {
  const known = missing.get(asking)?.get(call.callId);
  if (known) return known;
  const { evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt } = asking;
  const result: ToolMessage = {
    id: `${asking.id}/${call.callId}`,
    role: 'tool',
    synthetic: true,
    toolCallId: call.callId,
    toolName: call.name,
    content: [{ type: 'text', text: 'No result was recorded for this call.' }],
    isError: true,
    ...{ evaluationId, conversationId, sequence, turn, promptNs, promptKey, createdAt },
  };
  missing.set(asking, new Map([...(missing.get(asking) ?? []), [call.callId, result]]));
  return result;
}

/** `checkCoherence` against a record that is already indexed. */
export function check(messages: readonly ConversationMessage[], origin: Origin | undefined): Coherence {
  const violations: Violation[] = [];
  checkPairs(messages, violations);
  if (origin) checkOrigin(messages, origin, violations);
  violations.sort((a, b) => a.index - b.index);
  return { ok: violations.length === 0, violations };
}

/** `repairCoherence` against a record that is already indexed. */
export function repair(
  messages: readonly ConversationMessage[],
  origin: Origin | undefined,
): { readonly messages: readonly ConversationMessage[]; readonly violations: readonly Violation[] } {
  const { ok, violations } = check(messages, origin);
  if (ok) return { messages, violations };
  const results = new Results(messages, origin);
  const repaired: ConversationMessage[] = [];
  for (const message of origin ? arrange(messages, origin) : messages) {
    if (message.role === 'tool' || isBlank(message)) continue;
    repaired.push(message);
    if (message.role === 'assistant') repaired.push(...results.of(message));
  }
  return { messages: repaired, violations };
}

function checkPairs(messages: readonly ConversationMessage[], violations: Violation[]): void {
  let asking: OpenCalls | undefined;
  let interrupted = false;
  messages.forEach((message, index) => {
    if (isBlank(message)) violations.push({ code: 'empty-content', index, repair: 'the empty message is left out' });
    if (message.role === 'assistant') {
      asking?.close(violations);
      asking = new OpenCalls(message, index);
      interrupted = false;
    } else if (message.role !== 'tool') {
      interrupted = true;
    } else {
      const code = asking ? asking.answer(message.toolCallId, interrupted) : 'result-without-call';
      if (code) violations.push({ code, index, callId: message.toolCallId, repair: RESULT_REPAIRS[code] });
    }
  });
  // The cast undoes a narrowing: TypeScript does not see the assignment inside the callback.
  (asking as OpenCalls | undefined)?.close(violations);
}

const RESULT_REPAIRS = {
  'result-without-call': 'the result is left out',
  'duplicate-result': 'the first result stays, this one is left out',
  'result-out-of-order': 'the result is moved behind its call, in call order',
} as const;

function checkOrigin(messages: readonly ConversationMessage[], origin: Origin, violations: Violation[]): void {
  const seen = new Set<number>();
  const emptied = new Set<number>();
  let last = -1;
  let asking: ConversationMessage | undefined;
  messages.forEach((message, index) => {
    if (message.role === 'assistant') asking = message;
    const position = origin.positionOf(message, seen);
    const recorded = origin.messages[position];
    if (!recorded) {
      if (isAddition(message)) return;
      violations.push({ code: 'invented', index, repair: 'a message that was never recorded is left out' });
      return;
    }
    if (!isVersionOf(message, recorded)) {
      violations.push({ code: 'invented', index, repair: 'the message is sent with its recorded role and calls' });
    }
    if (recorded.role === 'tool') {
      const owner = origin.ownerOf(position);
      if (owner && asking && owner.id !== asking.id) {
        violations.push({ code: 'reordered', index, repair: 'the result goes back to its own call' });
      }
    } else if (seen.has(position)) {
      violations.push({ code: 'reordered', index, repair: 'the first copy stays, this one is left out' });
    } else {
      if (position < last) violations.push({ code: 'reordered', index, repair: 'the message goes back to its place' });
      last = Math.max(last, position);
    }
    seen.add(position);
    if (isBlank(message)) emptied.add(position);
  });
  for (let index = 0; index < origin.leadingSystem(); index++) {
    const system = origin.messages[index];
    if (system && !isBlank(system) && (!seen.has(index) || emptied.has(index))) {
      violations.push({ code: 'system-lost', index, repair: 'the leading system message is put back' });
    }
  }
  if (origin.newestSaid() >= 0 && !messages.some((message) => message.role !== 'system' && !isBlank(message))) {
    const repair = 'nothing is left to answer: the newest message is put back';
    violations.push({ code: 'empty-content', index: messages.length, repair });
  }
}

/** Everything but the results, as the conversation has it: in order, once, with the recorded role and calls. */
function arrange(messages: readonly ConversationMessage[], origin: Origin): ConversationMessage[] {
  const kept = new Map<number, ConversationMessage[]>();
  const taken = new Set<number>();
  const system = origin.leadingSystem();
  // What a manager added stays behind the message that it followed; before the first, behind the leading system messages.
  let run: ConversationMessage[] = [];
  const added = run;
  for (const message of messages) {
    const position = origin.positionOf(message, taken);
    const recorded = origin.messages[position];
    if (!recorded) {
      if (isAddition(message)) run.push(message);
    } else if (recorded.role !== 'tool' && !taken.has(position) && !isBlank(message)) {
      taken.add(position);
      run = [isVersionOf(message, recorded) ? message : recorded];
      kept.set(position, run);
    }
  }
  const putBack = (position: number): void => {
    const recorded = origin.messages[position];
    if (recorded && !kept.has(position)) kept.set(position, [recorded]);
  };
  for (let position = 0; position < system; position++) putBack(position);
  if (![...kept.values()].flat().some((message) => message.role !== 'system' && !isBlank(message))) {
    putBack(origin.newestSaid());
  }
  const order = [...kept.keys()].sort((a, b) => a - b);
  const head = order.filter((position) => position < system);
  const rest = order.filter((position) => position >= system);
  const runOf = (position: number): ConversationMessage[] => kept.get(position) ?? [];
  return [...head.flatMap(runOf), ...added, ...rest.flatMap(runOf)];
}

/** The calls of one assistant message, and which of them have been answered. */
class OpenCalls {
  readonly #index: number;
  readonly #callIds: readonly string[];
  readonly #answered = new Set<number>();
  #highest = -1;

  constructor(message: AssistantMessage, index: number) {
    this.#index = index;
    this.#callIds = callsOf(message).map((call) => call.callId);
  }

  /** Takes a result; says what is wrong with it, if anything. */
  answer(callId: string, interrupted: boolean): keyof typeof RESULT_REPAIRS | undefined {
    const slot = this.#callIds.findIndex((id, i) => id === callId && !this.#answered.has(i));
    if (slot < 0) return this.#callIds.includes(callId) ? 'duplicate-result' : 'result-without-call';
    this.#answered.add(slot);
    const late = slot < this.#highest;
    this.#highest = Math.max(this.#highest, slot);
    return late || interrupted ? 'result-out-of-order' : undefined;
  }

  close(violations: Violation[]): void {
    this.#callIds.forEach((callId, slot) => {
      if (this.#answered.has(slot)) return;
      const repair = 'its recorded result is put back or, where there is none, one that says so';
      violations.push({ code: 'call-without-result', index: this.#index, callId, repair });
    });
  }
}

/** Where the result of a call is found: beside it, elsewhere in the list, in the record, or nowhere. */
class Results {
  readonly #byOwner = new Map<string, ToolMessage[]>();
  readonly #strays = new Map<string, ToolMessage[]>();
  readonly #origin: Origin | undefined;

  constructor(messages: readonly ConversationMessage[], origin: Origin | undefined) {
    this.#origin = origin;
    const taken = new Set<number>();
    let nearest: AssistantMessage | undefined;
    for (const message of messages) {
      if (message.role === 'assistant') nearest = message;
      if (message.role !== 'tool') continue;
      const position = origin ? origin.positionOf(message, taken) : -1;
      const recorded = origin?.messages[position];
      if (taken.has(position) || (origin && !recorded && !message.synthetic)) continue;
      if (recorded) taken.add(position);
      if (recorded && recorded.role !== 'tool') continue;
      const result = recorded && !isVersionOf(message, recorded) ? recorded : message;
      const owner = origin?.ownerOf(position) ?? (nearest && asks(nearest, result.toolCallId) ? nearest : undefined);
      if (owner) push(this.#byOwner, owner.id, result);
      else push(this.#strays, keyOf(result, result.toolCallId), result);
    }
  }

  /** One result for each call of the message, in call order. */
  of(message: AssistantMessage): readonly ToolMessage[] {
    const near = this.#byOwner.get(message.id) ?? [];
    const recorded =
      this.#origin?.resultsOf(message).filter((result) => !near.some(({ id }) => id === result.id)) ?? [];
    return callsOf(message).map((call) => {
      const strays = this.#strays.get(keyOf(message, call.callId)) ?? [];
      const { callId } = call;
      return take(near, callId) ?? take(strays, callId) ?? take(recorded, callId) ?? missingResult(message, call);
    });
  }
}

function keyOf(message: Omit<CallRef, 'callId'>, callId: string): string {
  return callKey({ evaluationId: message.evaluationId, turn: message.turn, callId });
}

function push(map: Map<string, ToolMessage[]>, key: string, value: ToolMessage): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function take(results: ToolMessage[], callId: string): ToolMessage | undefined {
  const at = results.findIndex((result) => result.toolCallId === callId);
  return at < 0 ? undefined : results.splice(at, 1)[0];
}
