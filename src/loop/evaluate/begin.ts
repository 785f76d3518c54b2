import { HoldfastError } from '../../core/errors.ts';
import { type Evaluation, isOpen, openCalls } from '../../core/fold/evaluations.ts';
import type { NewEvent, Without } from '../../core/log/events.ts';
import type { CallRef, ConversationMessage } from '../../core/log/messages.ts';
import type { AppendGuard } from '../../session/append/append-queue.ts';
import { closingResults, failed } from '../../session/change/close-calls.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { settledOutcome } from '../define/tool-result.ts';
import { interruptLeftDraft } from '../request/stream-response.ts';
import { boundInstructions } from './check-options.ts';
import { inputHash, paramsHash } from './evaluation-identity.ts';
import type { EvaluateOptions } from './provider-adapter.ts';
import { messageBase, type Run, record } from './run.ts';

/** Where a conversation stands in its session. */
export interface Place {
  readonly conversationId: string;
  /** The call that asked for a child conversation, and the run that it belongs to. */
  readonly parent?: { readonly call: CallRef; readonly run: Run };
  /** The queued input that the evaluation begins with, and a guard for the append that places it (D61). */
  readonly placing?: { readonly inputId: string; readonly guard: AppendGuard };
  /** The cancelled evaluation that it supersedes, whose open calls are closed as stopped (D61). */
  readonly stopped?: Evaluation;
}

/** Records the beginning in one append: what it supersedes, the evaluation, its system and user messages (D7). */
export async function begin(run: Run, place: Place): Promise<void> {
  const { session, prompt, options, evaluationId } = run;
  const { input, key } = options;
  const text = boundInstructions(prompt, options);
  const { conversationId } = place;
  const parent = place.parent?.call;
  const continues = continued(session, options, place);
  const at = new Date(session.clock.now()).toISOString();
  const names = { id: evaluationId, conversationId, promptNs: prompt.ns, promptKey: prompt.key };
  const messages: ConversationMessage[] = [];
  const place0 = (): { readonly sequence: number; readonly turn: number } => ({ sequence: messages.length, turn: 0 });
  if (text !== '')
    messages.push({ ...messageBase(names, place0(), at), role: 'system', content: [{ type: 'text', text }] });
  if (input !== undefined && input.length > 0) {
    const content = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input;
    messages.push({ ...messageBase(names, place0(), at), role: 'user', content });
  }
  const older = parent ? [] : openEvaluations(session, prompt, place); // a child has a new conversation
  for (const evaluation of older) {
    await interruptLeftDraft(run, evaluation);
    for (const draftId of run.callDrafts.leftUnder(evaluation.id)) run.staleDrafts.add(draftId);
  }
  const { placing } = place;
  const events: Without<NewEvent, 'at'>[] = [
    ...(place.stopped ? stoppedCalls(place.stopped, prompt, at) : []),
    ...older.flatMap((evaluation) => (evaluation === place.stopped ? [] : supersededCalls(evaluation, at))),
    ...older.map(
      (evaluation): Without<NewEvent, 'at'> => ({
        type: 'evaluation/superseded',
        evaluationId: evaluation.id,
        by: evaluationId,
      }),
    ),
    {
      type: 'evaluation/started',
      evaluationId,
      conversationId,
      promptNs: prompt.ns,
      promptKey: prompt.key,
      promptHash: prompt.hash,
      inputHash: inputHash(options),
      paramsHash: paramsHash(options),
      ...(key !== undefined && { key }),
      ...(continues !== undefined && { continues }),
      ...(run.agent && { adapterType: run.agent.adapterType }),
      ...(parent && { parent: { evaluationId: parent.evaluationId, turn: parent.turn, callId: parent.callId } }),
    },
    ...messages.map(
      (message): Without<NewEvent, 'at'> => ({
        type: 'message/recorded',
        message,
        ...(message.role === 'user' && placing && { inputId: placing.inputId }),
      }),
    ),
  ];
  await record(run, events, placing ? { guard: placing.guard } : {});
}

function openEvaluations(session: AnySession, prompt: Prompt<unknown>, place: Place): readonly Evaluation[] {
  const { conversationId, stopped } = place;
  const newest = session.latestEvaluation({ ns: prompt.ns, key: prompt.key, conversationId });
  const open = newest && isOpen(newest) ? [newest] : []; // whatever is older was superseded when the newest began
  return stopped && stopped.id !== newest?.id ? [stopped, ...open] : open;
}

/** The results that close the open calls of a cancelled evaluation. Each states whether the call may have taken effect. */
function stoppedCalls(
  evaluation: Evaluation,
  { tools }: Prompt<unknown>,
  at: string,
): readonly Without<NewEvent, 'at'>[] {
  return closingResults(evaluation, openCalls(evaluation), {
    closing: ({ settlement, status, name }) => {
      if (settlement && 'result' in settlement) return settledOutcome(settlement, name);
      if (status === 'started') {
        return failed('The user stopped this before its result was recorded. It may have taken effect.');
      }
      // The start of a tool that only reads is not recorded: it may have run.
      const isRead = tools.find((tool) => tool.name === name)?.effect === 'read';
      return failed(`The user stopped this before ${isRead ? 'it had a result.' : 'it began. It did not run.'}`);
    },
    at,
  });
}

/**
 * The results that close the started calls of a superseded evaluation: what a person settled, otherwise that the outcome is unknown. A model
 * that is sent the conversation reads it, and does not take a call that may have happened for one that did not (I2).
 */
function supersededCalls(evaluation: Evaluation, at: string): readonly Without<NewEvent, 'at'>[] {
  const started = openCalls(evaluation).filter(({ status }) => status === 'started');
  return closingResults(evaluation, started, {
    closing: ({ settlement, name }) =>
      settlement && 'result' in settlement ? settledOutcome(settlement, name) : failed(SUPERSEDED_CALL),
    at,
  });
}

const SUPERSEDED_CALL =
  'A new request superseded this call before its result was recorded. Its outcome is unknown: it may have taken effect.';

function continued(session: AnySession, { continues }: EvaluateOptions, place: Place): string | undefined {
  if (continues === undefined || continues === false) return undefined;
  if (continues === true) return session.latestEvaluation({ conversationId: place.conversationId })?.id;
  if (session.state.record.evaluations.has(continues)) return continues;
  throw new HoldfastError('CONVERSATION_NOT_FOUND', `session ${session.id} has no evaluation ${continues} to continue`);
}
