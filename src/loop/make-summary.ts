import type { ConversationMessage } from '../core/messages.ts';
import { textOf } from '../core/messages.ts';
import type { SummaryRequest } from '../history/history-manager.ts';
import { untilAborted } from '../models/until-aborted.ts';
import type { ModelRequest } from '../ports/model.ts';
import { withCost } from './prices.ts';
import { confirmLease, currentEvaluation, messageBase, nowOf, type Run, record } from './run.ts';
import { pricesOf } from './spending.ts';

/**
 * Has a summary made that a history manager asked for, once: it is recorded under its key, so that every later request, and
 * the same request after a crash, uses the same text (D56). A model that gives none leaves the request to do without.
 */
export async function makeSummary(run: Run, need: SummaryRequest): Promise<void> {
  const { evaluationId, limits } = run;
  try {
    const request = requestFor(run, need);
    await confirmLease(run);
    const iterator = run.summaryModel.stream(request)[Symbol.asyncIterator]();
    for (;;) {
      const next = await untilAborted(iterator.next(), limits.signal);
      if (next.done) return;
      if (next.value.type !== 'finish') continue;
      const { content, usage, model } = next.value.answer;
      const text = textOf({ content });
      if (text === '') return;
      const models = [model, run.summaryModel.modelId];
      const spent = usage && { usage: withCost(usage, pricesOf(run), models) };
      await record(run, [{ type: 'history/summarized', evaluationId, key: need.key, text, ...spent }]);
      return;
    }
  } catch {
    limits.check(); // a provider's failure is not worth stopping for; a deadline or another holder is
  }
}

/** A conversation of its own: turn 0, so that no script or cache takes it for a turn of the evaluation. */
function requestFor(run: Run, need: SummaryRequest): ModelRequest {
  const evaluation = currentEvaluation(run);
  const base = (sequence: number): ReturnType<typeof messageBase> =>
    messageBase(evaluation, { sequence, turn: 0 }, nowOf(run));
  const length = need.maxTokens === undefined ? '' : `\n\nUse at most ${need.maxTokens} tokens.`;
  return {
    messages: [
      { ...base(0), role: 'system', content: [{ type: 'text', text: need.instructions + length }] },
      { ...base(1), role: 'user', content: [{ type: 'text', text: need.messages.map(asText).join('\n\n') }] },
    ],
    turn: 0,
    evaluationId: run.evaluationId,
    prompt: { ns: 'holdfast', key: 'summary' },
    signal: run.limits.signal,
  };
}

function asText(message: ConversationMessage): string {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const name = message.role === 'tool' ? `result of ${message.toolName}` : message.role;
  return [`[${name}] ${textOf(message)}`, ...calls.map((call) => `[calls ${call.name}] ${call.arguments}`)].join('\n');
}
