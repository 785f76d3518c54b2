import type { KeyedList } from '../keyed-list.ts';
import type { ConversationMessage } from '../log/messages.ts';
import type { Evaluation } from './evaluations.ts';
import type { SessionRecord } from './record.ts';

/**
 * The conversation that an evaluation's requests are built from: its own instructions, then the messages of the evaluations that it
 * continues (D50), oldest first, then its own messages. Only the newest instructions are included.
 */
export function evaluationMessages(record: SessionRecord, evaluation: Evaluation): readonly ConversationMessage[] {
  const own = evaluation.messages.toArray();
  const [, ...continued] = continuedEvaluations(record.evaluations, evaluation);
  if (continued.length === 0) return own;
  const begins = own.findIndex(({ role }) => role !== 'system');
  const system = begins < 0 ? own : own.slice(0, begins);
  const before = continued.toReversed().flatMap(({ messages }) => messages.filter(({ role }) => role !== 'system'));
  return [...system, ...before, ...own.slice(system.length)];
}

/** The summaries that an evaluation's requests may use: its own and those of the evaluations that it continues (D56). */
export function evaluationSummaries(
  record: SessionRecord,
  evaluation: Evaluation,
): (key: string) => string | undefined {
  const ids = continuedEvaluations(record.evaluations, evaluation).map(({ id }) => id);
  return (key) => {
    for (const id of ids) {
      const summary = record.summaries.get(`${id}:${key}`);
      if (summary) return summary.text;
    }
    return undefined;
  };
}

/** The token limit for requests to a model, once the model refused a request of this conversation as too long. */
export function refusalLimit(record: SessionRecord, evaluation: Evaluation, model: string): number | undefined {
  const newestFirst = continuedEvaluations(record.evaluations, evaluation);
  const limit = newestFirst.find(({ refusal }) => refusal?.model === model)?.refusal?.maxTokens;
  return typeof limit === 'number' && limit > 0 ? limit : undefined;
}

/** An evaluation and the evaluations that it continues (D50), newest first. A log whose evaluations continue each other is walked once. */
export function continuedEvaluations(
  evaluations: Pick<KeyedList<Evaluation>, 'get'>,
  evaluation: Evaluation,
): readonly Evaluation[] {
  const chain = [evaluation];
  const seen = new Set([evaluation.id]);
  for (let { continues } = evaluation; continues !== undefined && !seen.has(continues); ) {
    const earlier = evaluations.get(continues);
    if (!earlier) break;
    seen.add(earlier.id);
    chain.push(earlier);
    continues = earlier.continues;
  }
  return chain;
}
