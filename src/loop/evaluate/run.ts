import { type HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { EvaluationResumed, MessageRecorded, NewEvent, Without } from '../../core/log/events.ts';
import type { CallRef, ConversationMessage, ToolMessage } from '../../core/log/messages.ts';
import type { PlannedCall } from '../../core/plan/resume-plan.ts';
import type { Model } from '../../ports/model.ts';
import { appendForLoop, type LoopAppendOptions } from '../../session/append/append-for-loop.ts';
import { isoTime } from '../../session/append/iso-time.ts';
import { isSequenceTaken } from '../../session/append/message-sequences.ts';
import { leaseLost } from '../../session/lease.ts';
import type { AnySession } from '../../session/session.ts';
import { PlanChanged } from '../calls/call-guards.ts';
import type { CallDrafts } from '../calls/call-progress.ts';
import type { ChildIndex } from '../calls/child-index.ts';
import type { Prepared } from '../calls/prepare-call.ts';
import type { Prompt } from '../define/define-prompt.ts';
import type { ToolOutcome } from '../define/tool-result.ts';
import type { DraftWriter } from '../request/draft-writer.ts';
import type { Prices } from '../request/prices.ts';
import type { RecordProviderMetadata } from '../request/provider-metadata.ts';
import type { RequestHistory } from '../request/request-history.ts';
import type { Draft } from '../request/stream-response.ts';
import type { Aborter } from './aborter.ts';
import type { ChildOptions, EvaluateOptions, EvaluationEvent, EvaluationResponse } from './provider-adapter.ts';
import type { Suspension } from './suspension.ts';

/** What an adapter brings to every evaluation. */
export interface LoopSettings {
  readonly model: Model;
  /** Makes the summaries that history managers request. */
  readonly summaryModel: Model;
  /** Asked instead of the model, if there is one. */
  readonly agent?: Agent;
  readonly maxModelRetries: number;
  /** A provider that asks for a longer pause suspends the evaluation until then. */
  readonly maxProviderWaitMs: number;
  readonly prices: Prices;
  readonly recordProviderMetadata?: RecordProviderMetadata | undefined;
  readonly leaseTtlMs: number | undefined;
  readonly maxBlockedMs: number | undefined;
  readonly random: () => number;
}

/** One evaluation while this process runs it. Everything that must outlive the process is in the log, nothing of it is here. */
export interface Run extends Omit<LoopSettings, 'leaseTtlMs' | 'maxBlockedMs'> {
  readonly session: AnySession;
  readonly prompt: Prompt<unknown>;
  readonly evaluationId: string;
  readonly options: EvaluateOptions;
  readonly aborter: Aborter;
  /** A request to cancel that was appended while no process ran the evaluation: obeyed once leftovers of an earlier process have ended. */
  readonly cancelled?: Suspension;
  readonly fence: number;
  /** The lease's own check; effects await `confirmLease`. */
  readonly ensureLease: () => Promise<void> | undefined;
  readonly history: RequestHistory;
  /** Calls whose start this process recorded and that have not run yet: their start is not a trace of an earlier process. */
  readonly startedHere: Map<string, Prepared>;
  /** The event of the resume, until an append has taken it; shared by the runs of an agent's conversations. */
  readonly resumption: { event: Without<EvaluationResumed, 'seq' | 'at'> | undefined };
  /** Emits an event to `onEvent`, if there is one. */
  readonly emit: ((event: EvaluationEvent) => void) | undefined;
  readonly draftWriter: DraftWriter;
  /** The progress of running calls, shared by the evaluation and its children. */
  readonly callDrafts: CallDrafts;
  /** Drafts of turns that are recorded, which a dead process left: the next append ends them. */
  readonly staleDrafts: Set<string>;
  /** Attempts at the current turn. */
  attempts: number;
  /** The draft of the newest response, until it is recorded. */
  draft: Draft | undefined;
  /** Takes work that the next step does not await; the evaluation's end does. */
  readonly background: (work: Promise<void> | undefined) => void;
  /** The run whose call started this child: its budget holds here, too. */
  readonly parent?: Run;
  /** The child conversations in the log, by their calls. */
  readonly children: ChildIndex;
  /** Runs a child conversation under the same lease, until its call ends. */
  readonly child: (
    run: Run,
    call: CallRef,
    prompt: Prompt<unknown>,
    options: ChildOptions,
    how: { readonly conversationId: string; readonly evaluationId?: string; readonly signal: AbortSignal },
  ) => Promise<EvaluationResponse<unknown>>;
}

/**
 * An agent with a loop of its own, which the loop asks instead of a model.
 *
 * Contract: the loop calls `prepare` first, under the session's lease: it ends what an earlier process left running and records what
 * only the agent's own record has. `ask` continues the evaluation and records responses, calls and results as they happen; when it
 * returns, the loop plans by the log again. `runCalls` runs calls that were left open.
 */
export interface Agent {
  readonly adapterType: string;
  prepare(run: Run): Promise<void>;
  ask(run: Run, turn: number): Promise<void>;
  runCalls(run: Run, calls: readonly PlannedCall[]): Promise<void>;
}

/**
 * Called right before each effect: a process that was stopped, or whose clock was set, renews its lease first. Throws, and
 * stops the run, when another process holds the lease or it cannot be renewed. Returns undefined while there is time left.
 */
export function confirmLease(run: Run): Promise<void> | undefined {
  run.aborter.check();
  return run.ensureLease()?.then(
    () => run.aborter.check(),
    (error: unknown) => {
      run.aborter.abort(error);
      throw error;
    },
  );
}

/** The evaluation as the log has it now. */
export function currentEvaluation(run: Run): Evaluation {
  const evaluation = run.session.state.record.evaluations.get(run.evaluationId);
  if (!evaluation) throw new Error(`evaluation ${run.evaluationId} is not in the log`);
  return evaluation;
}

type Recorded = readonly Without<NewEvent, 'at'>[];

/**
 * Appends under the run's lease. An append that fails stops the run, even if a caller catches the error: what cannot be recorded must
 * not be acted on. Two errors do not stop it: an event that a log cannot hold, and a plan that a person's decision has changed. The
 * first append of a resume also records the resume.
 */
export async function record(
  run: Run,
  events: Recorded,
  options: Omit<LoopAppendOptions, 'fence'> & { readonly background?: true } = {},
): Promise<void> {
  const { event: resumed } = run.resumption;
  run.resumption.event = undefined;
  // A copy: appending dates it, and after a failure it is appended again.
  const all = resumed ? events.toSpliced(options.discarded ?? 0, 0, { ...resumed }) : events;
  // Beside a response that is being streamed: its draft may have the id of a stale one.
  const takesDrafts = !options.background && run.staleDrafts.size > 0;
  const endsDrafts = takesDrafts ? [...run.staleDrafts, ...(options.endsDrafts ?? [])] : options.endsDrafts;
  try {
    const appending: LoopAppendOptions = {
      ...(resumed ? withoutLateSync(options) : options),
      fence: run.fence,
      ...(endsDrafts && { endsDrafts }),
    };
    await appendForLoop(run.session, all as readonly { readonly type: string }[], appending);
    if (takesDrafts) run.staleDrafts.clear();
  } catch (error) {
    if (resumed) run.resumption.event = resumed;
    const moved = isSequenceTaken(error) && movedResult(run, events);
    if (moved) return record(run, moved, options);
    const why = error instanceof PlanChanged ? ((await lostLease(run)) ?? error) : error;
    if (!isRefusedEvent(why) && !(why instanceof PlanChanged)) run.aborter.abort(why);
    throw why;
  }
}

/** What a resume did must not be lost, even if what it is recorded with may be. */
function withoutLateSync<T extends LoopAppendOptions>({ syncLater: _, ...options }: T): Omit<T, 'syncLater'> {
  return options;
}

/** The error of a run whose lease was taken over: then its new holder has changed the plan, not a person. */
async function lostLease({ session, fence }: Run): Promise<HoldfastError | undefined> {
  const lease = await session.store.readLease(session.id);
  return lease?.fence === fence ? undefined : leaseLost(session.id);
}

/** A result at the next free place: erasing a message records results of its calls, also while others of them run. */
function movedResult(run: Run, events: Recorded): Recorded | undefined {
  const at = events.findLastIndex((event) => event.type === 'message/recorded');
  const last = events[at] as Without<MessageRecorded, 'at'> | undefined;
  if (!last) return undefined;
  const { message } = last;
  if (message.role !== 'tool') return undefined;
  const { id, nextSequence: sequence } = currentEvaluation({ ...run, evaluationId: message.evaluationId });
  return events.with(at, { ...last, message: { ...message, id: `${id}:${sequence}`, sequence } });
}

/** Whether an append failed because of what is in its events: nothing else is wrong, and nothing was written. */
export function isRefusedEvent(error: unknown): boolean {
  return isHoldfastError(error, 'EVENT_INVALID') || isHoldfastError(error, 'EVENT_TOO_LARGE');
}

/** An upper bound for the characters of a message event beside its content: ids, names and times. */
export const ENVELOPE = 4096;

/** The fields that every message of an evaluation shares. */
export function messageBase(
  evaluation: Pick<Evaluation, 'id' | 'conversationId' | 'promptNs' | 'promptKey'>,
  place: { readonly sequence: number; readonly turn: number },
  createdAt: string,
): Pick<
  ConversationMessage,
  'id' | 'evaluationId' | 'conversationId' | 'sequence' | 'turn' | 'promptNs' | 'promptKey' | 'createdAt'
> {
  return {
    id: `${evaluation.id}:${place.sequence}`,
    evaluationId: evaluation.id,
    conversationId: evaluation.conversationId,
    sequence: place.sequence,
    turn: place.turn,
    promptNs: evaluation.promptNs,
    promptKey: evaluation.promptKey,
    createdAt,
  };
}

/** A call's outcome as its result message. */
export function toolMessage(
  run: Run,
  call: CallRef & { readonly name: string },
  outcome: ToolOutcome,
  sequence: number,
): ToolMessage {
  return {
    ...messageBase(currentEvaluation(run), { sequence, turn: call.turn }, nowOf(run)),
    role: 'tool',
    toolCallId: call.callId,
    toolName: call.name,
    content: outcome.content,
    isError: outcome.isError,
  };
}

/** The time by the session's clock. */
export function nowOf(run: Run): string {
  return isoTime(run.session.clock);
}
