import { isOpen } from '../../core/fold/evaluations.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import { textOf } from '../../core/log/messages.ts';
import type { SummaryRequest } from '../../history/history-manager.ts';
import { untilAborted } from '../../models/until-aborted.ts';
import { ModelError, type ModelPart, type ModelRequest, type ModelResponse } from '../../ports/model.ts';
import type { AppendGuard } from '../../session/append/append-queue.ts';
import { PlanChanged } from '../calls/call-guards.ts';
import { confirmLease, currentEvaluation, messageBase, nowOf, type Run, record } from '../evaluate/run.ts';
import { withCost } from './prices.ts';
import { pricesOf } from './spending.ts';

/** How a summary is made. */
export interface SummaryOptions {
  readonly signal: AbortSignal;
  /** The newest erasure that the messages to summarise were read after. */
  readonly erasedSeq: number | undefined;
  /** The run does other work meanwhile. */
  readonly background?: true;
}

/**
 * Makes a summary that a history manager wants and records it under its key, so that every later request, and the same request after a
 * crash, uses the same text (D56). Throws when the model returns none, and `PlanChanged` when the log no longer wants it.
 */
export async function makeSummary(run: Run, need: SummaryRequest, options: SummaryOptions): Promise<void> {
  const { signal, erasedSeq, background } = options;
  const { evaluationId } = run;
  const request = requestFor(run, need, signal);
  await confirmLease(run);
  const { content, usage, model } = await summarize(run, request, signal);
  const text = textOf({ content });
  if (text === '') throw new ModelError('the model returned an empty summary', { retryable: true });
  signal.throwIfAborted(); // the end of the evaluation may be on its way into the log
  const spent = usage && { usage: withCost(usage, pricesOf(run), [model, run.summaryModel.modelId]) };
  const guard = unlessOutdated(run, need.key, erasedSeq);
  await record(run, [{ type: 'history/summarized', evaluationId, key: need.key, text, ...spent }], {
    guard,
    ...(background && { background }),
  });
}

async function summarize({ summaryModel }: Run, request: ModelRequest, signal: AbortSignal): Promise<ModelResponse> {
  let iterator: AsyncIterator<ModelPart> | undefined;
  try {
    iterator = summaryModel.stream(request)[Symbol.asyncIterator]();
    for (;;) {
      const next = await untilAborted(iterator.next(), signal);
      if (next.done) throw new ModelError('the model stopped before it had finished the summary', { retryable: true });
      if (next.value.type === 'finish') return next.value.response;
    }
  } finally {
    void iterator?.return?.()?.catch(() => {}); // releases the connection, also of a stream that was not read to its end
  }
}

/** A guard for a summary: throws when its content was erased meanwhile, its evaluation has ended, or the log has it already. */
function unlessOutdated({ evaluationId }: Run, key: string, erasedSeq: number | undefined): AppendGuard {
  return ({ record: { evaluations, summaries }, erasedSeq: newest }) => {
    const evaluation = evaluations.get(evaluationId);
    if (newest !== erasedSeq) throw new PlanChanged('a message was erased while it was summarised');
    if (!evaluation || !isOpen(evaluation)) throw new PlanChanged('the evaluation ended before its summary was made');
    if (summaries.get(`${evaluationId}:${key}`)) throw new PlanChanged('the summary has been made already');
  };
}

/** A conversation of its own: turn 0, so that no script or cache takes it for a turn of the evaluation. */
function requestFor(run: Run, need: SummaryRequest, signal: AbortSignal): ModelRequest {
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
    signal,
  };
}

function asText(message: ConversationMessage): string {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const name = message.role === 'tool' ? `result of ${message.toolName}` : message.role;
  return [`[${name}] ${textOf(message)}`, ...calls.map((call) => `[calls ${call.name}] ${call.arguments}`)].join('\n');
}
