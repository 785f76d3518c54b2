import type { Evaluation } from './evaluations.ts';
import type { ConversationMessage } from './messages.ts';
import type { SessionRecord } from './record.ts';

/**
 * The conversation of an evaluation, as its requests are made from it: its own instructions first, then what was said in the
 * evaluations that it continues (D50), oldest first, then its own messages. Of several instructions only the newest are in.
 */
export function evaluationMessages(record: SessionRecord, evaluation: Evaluation): readonly ConversationMessage[] {
  const own = evaluation.messages.toArray();
  const chain = continued(record, evaluation);
  if (chain.length === 0) return own;
  const begins = own.findIndex(({ role }) => role !== 'system');
  const system = begins < 0 ? own : own.slice(0, begins);
  const before = chain.flatMap(({ messages }) => messages.filter(({ role }) => role !== 'system'));
  return [...system, ...before, ...own.slice(system.length)];
}

/** The summaries that an evaluation's requests may use: its own and those of the evaluations that it continues (D56). */
export function evaluationSummaries(
  record: SessionRecord,
  evaluation: Evaluation,
): (key: string) => string | undefined {
  const ids = [evaluation, ...continued(record, evaluation)].map(({ id }) => id);
  return (key) => {
    for (const id of ids) {
      const summary = record.summaries.get(`${id}:${key}`);
      if (summary) return summary.text;
    }
    return undefined;
  };
}

/** The most tokens that a request to a model may hold since it refused one of this conversation as too long, if it did. */
export function refusalLimit(record: SessionRecord, evaluation: Evaluation, model: string): number | undefined {
  const newestFirst = [...continued(record, evaluation), evaluation].toReversed();
  const limit = newestFirst.find(({ refusal }) => refusal?.model === model)?.refusal?.maxTokens;
  return typeof limit === 'number' && limit > 0 ? limit : undefined;
}

/** The evaluations that an evaluation continues, oldest first. A log that goes in circles is followed once. */
function continued(record: SessionRecord, evaluation: Evaluation): readonly Evaluation[] {
  const chain: Evaluation[] = [];
  const seen = new Set([evaluation.id]);
  for (let id = evaluation.continues; id !== undefined && !seen.has(id); ) {
    seen.add(id);
    const earlier = record.evaluations.get(id);
    if (!earlier) break;
    chain.unshift(earlier);
    id = earlier.continues;
  }
  return chain;
}
