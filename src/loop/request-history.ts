import type { Evaluation } from '../core/evaluations.ts';
import type { AssistantMessage, ConversationMessage, ToolMessage } from '../core/messages.ts';
import type { SessionRecord } from '../core/record.ts';
import { inCallOrder } from '../core/views.ts';
import { repairCoherence } from '../history/coherence.ts';
import { currentEvaluation, type Run } from './run.ts';

/**
 * What the provider is sent, kept from request to request so that each adds only what is new: the messages of the evaluations
 * that this one continues, then its own, results in call order (D10), contents that are stored apart put back (D58).
 */
export class RequestHistory {
  readonly #messages: ConversationMessage[] = [];
  /** How many of the evaluation's own messages are in. */
  #taken = 0;

  async messagesFor(run: Run, _turn: number): Promise<readonly ConversationMessage[]> {
    const evaluation = currentEvaluation(run);
    if (this.#taken === 0)
      this.#messages.push(...(await run.session.resolve(inherited(run.session.state.record, evaluation))));
    const fresh = sendable(evaluation.messages.slice(this.#taken));
    this.#taken = evaluation.messages.length;
    this.#messages.push(...(await run.session.resolve(fresh)));
    return this.#messages.slice();
  }
}

/** Messages as they may be sent: results in call order, and nothing that a provider would refuse (I4). */
function sendable(messages: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const ordered: ConversationMessage[] = [];
  let asking: AssistantMessage | undefined;
  let results: ToolMessage[] = [];
  const flush = (): void => {
    if (asking) ordered.push(asking, ...inCallOrder(asking, results));
    asking = undefined;
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool' && asking) results.push(message);
    else {
      flush();
      if (message.role === 'assistant') asking = message;
      else ordered.push(message);
    }
  }
  flush();
  return repairCoherence(ordered).messages;
}

/**
 * The messages that an evaluation begins with (D50): those of the one it continues and of the ones before that, oldest first.
 * Each evaluation recorded its own instructions; only the newest are sent. Calls that were left open are repaired.
 */
function inherited(record: SessionRecord, evaluation: Evaluation): readonly ConversationMessage[] {
  const own = evaluation.messages.at(0);
  const chain: ConversationMessage[][] = [];
  const seen = new Set([evaluation.id]);
  for (let id = evaluation.continues; id !== undefined && !seen.has(id); ) {
    seen.add(id);
    const earlier = record.evaluations.get(id);
    if (!earlier) break;
    chain.unshift(earlier.messages.filter((message) => message.role !== 'system'));
    id = earlier.continues;
  }
  return chain.length === 0 || !own ? [] : sendable(chain.flat());
}
