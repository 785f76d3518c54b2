import { AskedCalls, makesCall, StrayResults } from '../../core/fold/asked-calls.ts';
import { type AssistantMessage, type ConversationMessage, callsOf, type ToolMessage } from '../../core/log/messages.ts';
import { isBlank } from '../../formats/message-parts.ts';
import { DROPPED_RESULT } from '../../formats/placeholders.ts';
import { isAddition, isVersionOf, type Origin } from '../origin.ts';

/** A list of messages put back into the order of the conversation that it was selected from. */

/**
 * The messages as the conversation has them: in order, once, with the recorded role and calls, and each call with its own result. A
 * result that was dropped while its call was kept becomes a placeholder (D65).
 */
export function arrange(messages: readonly ConversationMessage[], origin: Origin): ConversationMessage[] {
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
    putBack(origin.newestWithContent());
  }
  const order = [...kept.keys()].sort((a, b) => a - b);
  const head = order.filter((position) => position < system);
  const rest = order.filter((position) => position >= system);
  const runOf = (position: number): ConversationMessage[] => kept.get(position) ?? [];
  const results = new Results(messages, origin);
  return [...head.flatMap(runOf), ...added, ...rest.flatMap(runOf)].flatMap(
    (message): readonly ConversationMessage[] =>
      message.role === 'assistant' ? [message, ...results.of(message)] : [message],
  );
}

const dropped = new WeakMap<ToolMessage, ToolMessage>();

/** The placeholder of a recorded result that a manager dropped while it kept the call. Returns the same object each time. */
function droppedResult(result: ToolMessage): ToolMessage {
  const known = dropped.get(result) ?? { ...result, content: [{ type: 'text', text: DROPPED_RESULT }] };
  dropped.set(result, known);
  return known;
}

/** Where the result of a call is found: beside it, elsewhere in the list, or in the record. */
class Results {
  /** By the id of the message that made their calls. */
  readonly #owned = new Map<string, ToolMessage[]>();
  readonly #strays = new StrayResults();
  /** Calls that stand beside the result of another call of the same id: their own was confused, not dropped. */
  readonly #confused = new Map<string, Set<string>>();
  readonly #origin: Origin;

  constructor(messages: readonly ConversationMessage[], origin: Origin) {
    this.#origin = origin;
    const taken = new Set<number>();
    let nearest: AssistantMessage | undefined;
    for (const message of messages) {
      if (message.role === 'assistant') nearest = message;
      if (message.role !== 'tool') continue;
      const position = origin.positionOf(message, taken);
      const recorded = origin.messages[position];
      if (taken.has(position) || (!recorded && !message.synthetic)) continue;
      if (recorded) taken.add(position);
      if (recorded && recorded.role !== 'tool') continue;
      const result = recorded && !isVersionOf(message, recorded) ? recorded : message;
      const beside = nearest && makesCall(nearest, result.toolCallId) ? nearest : undefined;
      const owner = origin.ownerOf(position) ?? beside;
      if (owner && beside && owner.id !== beside.id) {
        const calls = this.#confused.get(beside.id) ?? new Set();
        this.#confused.set(beside.id, calls.add(result.toolCallId));
      }
      if (!owner) this.#strays.add(result);
      else if (this.#owned.get(owner.id)?.push(result) === undefined) this.#owned.set(owner.id, [result]);
    }
  }

  /** The results of a message's calls, in call order; a call that has none anywhere has none here. */
  of(message: AssistantMessage): readonly ToolMessage[] {
    const { id } = message;
    const near = this.#owned.get(id) ?? [];
    const asked = new AskedCalls<ToolMessage>(callsOf(message));
    const others = near.filter((result) => asked.addResult(result.toolCallId, result) < 0);
    this.#owned.set(id, others); // another message may have the same id
    this.#strays.giveTo(message, asked);
    for (const result of this.#origin.resultsOf(message)) {
      if (near.some((one) => one.id === result.id)) continue;
      const isConfused = this.#confused.get(id)?.has(result.toolCallId);
      asked.addResult(result.toolCallId, isConfused ? result : droppedResult(result));
    }
    return asked.inOrder();
  }
}
