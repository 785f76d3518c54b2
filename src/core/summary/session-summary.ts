import {
  type CallState,
  type Evaluation,
  evaluationOf,
  hasResult,
  isDecided,
  isOpen,
  statusAfter,
} from '../fold/evaluations.ts';
import { isBuiltInEvent, type SessionEvent, type SuspendReason } from '../log/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../log/usage.ts';
import { type ApprovalDeadlines, earliestTime, followDeadlines, restoredDeadlines } from './approval-deadlines.ts';
import { followSource, type SourceSummary, type SummarizedSourceEvent } from './source-summary.ts';
import type { SummarizedEvent } from './summary-fields.ts';

/** Raise it when the same events fold to another summary: a stored one of another version is folded again. */
export const SUMMARY_VERSION = 1;

/**
 * One row of a list of sessions, folded from the log. A store holds it beside the log so that listing need not read every log; it can
 * always be folded again.
 */
export interface SessionSummary {
  readonly title?: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  /** The status of the newest evaluation of the main conversation. */
  readonly status?: 'running' | 'suspended' | 'completed' | 'failed' | 'superseded';
  readonly evaluationId?: string;
  readonly forkedFrom?: { readonly sessionId: string; readonly seq: number };
  /** The source of an imported session; absent for a session of our own. */
  readonly source?: SourceSummary;
  /**
   * The work that a runner could do now: continue the open evaluation, act on a person's decision, carry out a request to resume
   *, or start with a queued input.
   */
  readonly work?: 'evaluation' | 'decision' | 'resume' | 'input';
  /** How many inputs are queued. */
  readonly queued?: number;
  /** How many of them were sent after the evaluation was cancelled: they supersede it. */
  readonly queuedSinceStop?: number;
  /** The seq of the suspension, if an aborted signal caused it. */
  readonly stoppedSeq?: number;
  /**
   * When a runner will have work that it does not have now, if nothing happens before. Present while the evaluation waits for a time
   *, or for a person and an approval can expire: the call is then denied, and the evaluation continues.
   */
  readonly wakeAt?: string;
  /**
   * The seq of the newest request to cancel the evaluation that no resume has overruled. While the evaluation is suspended, a
   * runner has no work, whatever a person decides about its calls: only an explicit resume continues it.
   */
  readonly cancelRequestSeq?: number;
  /** How many responses models gave, in all conversations of the session. Absent in summaries from before it was counted. */
  readonly turns?: number;
  /** What the responses and summaries of the session used; absent while none has reported a usage. */
  readonly usage?: Usage;
  /** When the approval of each waiting call expires; `wakeAt` is the earliest. */
  readonly approvalDeadlines?: ApprovalDeadlines;
  /** When the suspended evaluation continues by itself, because of a timer. */
  readonly suspendedUntil?: string;
  /**
   * Present while workers have given up on the session: the error of the last run, and what the summary says without this. A
   * person's next decision, input or request ends it.
   */
  readonly suspended?: SuspendedSession;
}

/** Why workers gave up on a session, and what they left. */
export interface SuspendedSession extends Pick<SessionSummary, 'status' | 'work' | 'wakeAt'> {
  readonly error: { readonly code: string; readonly message: string };
  readonly attempts: number;
  readonly at: string;
}

const NO_DEADLINES: ApprovalDeadlines = {};

/** For any other reason, an expired approval does not continue a suspended evaluation. */
const WAITS_FOR_PERSON: ReadonlySet<SuspendReason> = new Set(['APPROVAL_REQUIRED', 'TOOL_OUTCOME_UNKNOWN']);

/** Folds one event into a summary; returns the same object when the event does not change it. */
export function summarizeSession(summary: SessionSummary | undefined, event: SessionEvent): SessionSummary {
  const known: SessionSummary = summary ?? { tags: [], metadata: {}, createdAt: event.at, turns: 0 };
  if (!isBuiltInEvent(event)) return known;
  if (event.type === 'session/suspended') return giveUp(known, event);
  const before = known.suspended && endsSuspension(event) ? runnable(known, known.suspended) : known;
  const followed = withUsage(follow(before, event), event);
  return followed.queued !== undefined || event.type === 'input/queued' ? withInputs(followed, event) : followed;
}

/** Workers gave up on the session: it has no work until something happens (D79). */
function giveUp(
  { suspended: before, ...summary }: SessionSummary,
  event: SummarizedEvent<'session/suspended'>,
): SessionSummary {
  const { error, attempts, at } = event;
  const { status, work, wakeAt, ...rest } = before ? { ...summary, ...left(before) } : summary;
  return { ...rest, status: 'suspended', suspended: { error, attempts, at, ...left({ status, work, wakeAt }) } };
}

/** The summary of a session that workers may run again. */
function runnable({ status: _, suspended: __, ...summary }: SessionSummary, before: SuspendedSession): SessionSummary {
  return { ...summary, ...left(before) };
}

function left({
  status,
  work,
  wakeAt,
}: { readonly [K in 'status' | 'work' | 'wakeAt']?: SessionSummary[K] | undefined }): Pick<
  SessionSummary,
  'status' | 'work' | 'wakeAt'
> {
  return { ...(status && { status }), ...(work && { work }), ...(wakeAt !== undefined && { wakeAt }) };
}

/** Whether an event is a reason to run a suspended session again: all but those that only change what is shown of it. */
function endsSuspension({ type }: SummarizedEvent): boolean {
  return type !== 'session/described' && type !== 'message/erased';
}

/** Counts responses and adds up their usage. A summary that was begun without counting stays without: the sum would be wrong. */
function withUsage(summary: SessionSummary, event: SummarizedEvent): SessionSummary {
  if (summary.turns === undefined) return summary;
  if (event.type === 'session/restored') return withRestoredUsage(summary, event.slices.evaluations);
  const isResponse = event.type === 'message/recorded' && event.message?.role === 'assistant' && event.message.turn > 0;
  if (!isResponse && event.type !== 'history/summarized') return summary;
  const { usage: before = NO_USAGE, turns } = summary;
  const usage = event.usage && addUsage(before, event.usage);
  return { ...summary, turns: isResponse ? turns + 1 : turns, ...(usage && { usage }) };
}

/** A restore into an empty session brings its evaluations, with their turns and usage (D21). */
function withRestoredUsage(summary: SessionSummary, evaluations: readonly unknown[] | undefined = []): SessionSummary {
  if (summary.turns !== 0 || summary.usage) return summary;
  const all = evaluations as readonly Partial<Pick<Evaluation, 'turn' | 'usage'>>[];
  const turns = all.reduce((sum, { turn = 0 }) => sum + turn, 0);
  const usage = all.reduce((sum, each) => (each.usage ? addUsage(sum, each.usage) : sum), NO_USAGE);
  return turns === 0 ? summary : { ...summary, turns, ...(usage !== NO_USAGE && { usage }) };
}

/** Counts the queued inputs; they are work unless an evaluation blocks them (D61). */
function withInputs(summary: SessionSummary, event: SummarizedEvent): SessionSummary {
  const { queued: before = 0, queuedSinceStop: beforeSince = 0, work } = summary;
  const queued = Math.max(0, before + queuedBy(event));
  const stopped = stoppedAt(summary);
  const isSince =
    event.type === 'input/queued' || (event.type === 'input/withdrawn' && event.queuedSeq > (stopped ?? 0));
  const isStop = event.type === 'evaluation/cancel-requested' && stopped === event.seq;
  const since = stopped === undefined || isStop ? 0 : Math.max(0, beforeSince + (isSince ? queuedBy(event) : 0));
  const now = work === undefined || work === 'input' ? inputWork(summary, queued, since) : work;
  if (since === beforeSince && now === work) {
    if (queued === before) return summary;
    if (queued > 0) return { ...summary, queued }; // one input more or less: every send comes here
  }
  const { queued: _, queuedSinceStop: __, work: ___, ...rest } = summary;
  return {
    ...rest,
    ...(queued > 0 && { queued }),
    ...(queued > 0 && since > 0 && { queuedSinceStop: since }),
    ...(now && { work: now }),
  };
}

/** The number of inputs that an event adds to the queue. */
function queuedBy(event: SummarizedEvent): number {
  if (event.type === 'input/queued') return 1;
  if (event.type === 'session/forked') return Number.NEGATIVE_INFINITY; // queued inputs stay with the original session
  const isSettled =
    event.type === 'input/withdrawn' || (event.type === 'message/recorded' && event.inputId !== undefined);
  return isSettled ? -1 : 0;
}

/** The position of the cancellation: of the request, or of the suspension by an aborted signal. */
function stoppedAt({ cancelRequestSeq, stoppedSeq }: SessionSummary): number | undefined {
  return cancelRequestSeq ?? stoppedSeq;
}

/** Inputs wait for a failed evaluation, and for a suspended one unless they were sent after its cancellation (D61). */
function inputWork({ status }: SessionSummary, queued: number, sinceStop: number): 'input' | undefined {
  const isFree = status === 'suspended' ? sinceStop > 0 : status !== 'failed';
  return isFree && queued > 0 ? 'input' : undefined;
}

function follow(known: SessionSummary, event: SummarizedEvent): SessionSummary {
  const { approvalDeadlines = event.type === 'tool/approval-requested' ? NO_DEADLINES : undefined } = known;
  const before = approvalDeadlines ? withDeadlines(known, followDeadlines(approvalDeadlines, event)) : known;
  switch (event.type) {
    case 'session/described': {
      const metadata = { ...before.metadata, ...event.metadata };
      for (const key of Object.keys(metadata)) if (metadata[key] === null) delete metadata[key];
      return {
        ...before,
        metadata,
        ...(event.title !== undefined && { title: event.title }),
        ...(event.tags !== undefined && { tags: event.tags }),
      };
    }
    case 'session/forked':
      return { ...before, forkedFrom: event.origin };
    case 'session/restored':
      return before.evaluationId === undefined ? withRestored(before, event.slices.evaluations, event.seq) : before;
    case 'evaluation/started':
      if (event.conversationId !== 'main') return before;
      return withWork(
        withDeadlines({ ...unstopped(before), status: 'running', evaluationId: event.evaluationId }, NO_DEADLINES),
        'evaluation',
      );
    case 'evaluation/suspended': {
      const suspended = withStatus(before, event);
      if (suspended === before) return before;
      if (event.reason === 'CANCELLED') return { ...suspended, stoppedSeq: event.seq };
      if (before.cancelRequestSeq !== undefined) return suspended;
      const timed = event.until === undefined ? suspended : { ...suspended, suspendedUntil: event.until };
      return WAITS_FOR_PERSON.has(event.reason) ? withWakeAt(timed) : withTimer(timed);
    }
    case 'evaluation/cancel-requested': {
      if (!isOpen(before) || before.evaluationId !== event.evaluationId) return before;
      const requested = { ...before, cancelRequestSeq: event.seq };
      return before.status === 'suspended' ? withWork(requested, undefined) : requested;
    }
    case 'evaluation/resume-requested':
      return before.status === 'suspended' && before.evaluationId === event.evaluationId
        ? withWork(before, 'resume')
        : before;
    case 'tool/approved':
    case 'tool/denied':
    case 'tool/settled':
      if (before.status !== 'suspended' || before.cancelRequestSeq !== undefined) return before;
      return before.wakeAt === undefined ? withWork(before, 'decision') : withWakeAt(withWork(before, 'decision'));
    case 'evaluation/resumed': {
      const { evaluationId, cancelRequestSeq: requested } = before;
      const isOverruled = evaluationId === event.evaluationId && (requested ?? 0) <= (event.after ?? event.seq);
      return withStatus(isOverruled ? uncancelled(before) : before, event);
    }
    case 'evaluation/completed':
    case 'evaluation/failed':
    case 'evaluation/superseded':
    case 'message/recorded':
    case 'tool/started':
      return withStatus(before, event);
    case 'source/described':
    case 'source/recorded':
    case 'source/replaced':
      return withSource(before, event);
    default:
      return before;
  }
}

/** Adds what an event says about the source. A title that was given to the session itself is kept. */
function withSource(summary: SessionSummary, event: SummarizedSourceEvent): SessionSummary {
  const source = followSource(summary.source, event);
  if (event.type !== 'source/described') return { ...summary, source };
  const { architecture, path, title, cwd, createdAt, messages } = event;
  const { title: before, ...rest } = summary;
  const isOwn = before !== undefined && before !== summary.source?.title;
  const shown = isOwn ? before : title;
  const isFirst = summary.source === undefined;
  return {
    ...rest,
    ...(shown !== undefined && { title: shown }),
    ...(isFirst && { tags: ['imported', architecture], ...(createdAt !== undefined && { createdAt }) }),
    metadata: {
      ...summary.metadata,
      architecture,
      path,
      ...(cwd !== undefined && { cwd }),
      ...(messages !== undefined && { messages }),
    },
    source,
  };
}

/** A restore into an empty session brings its evaluations (D21); the newest of the main conversation sets the status. */
function withRestored(
  summary: SessionSummary,
  evaluations: readonly unknown[] | undefined = [],
  seq: number,
): SessionSummary {
  const all = evaluations as readonly Pick<
    Evaluation,
    'id' | 'conversationId' | 'status' | 'reason' | 'calls' | 'cancelRequest' | 'resumeRequest' | 'until'
  >[];
  const newest = all.findLast((evaluation) => evaluation.conversationId === 'main');
  if (!newest) return summary;
  const isStopped = newest.status === 'suspended' && newest.reason === 'CANCELLED';
  const stopped = isOpen(newest) && newest.cancelRequest ? { cancelRequestSeq: seq } : isStopped && { stoppedSeq: seq };
  const timer = newest.until !== undefined && { suspendedUntil: newest.until };
  const restored = withWork(
    { ...summary, status: newest.status, evaluationId: newest.id, ...timer, ...stopped },
    restoredWork(newest, all),
  );
  const open = isOpen(newest) ? withDeadlines(restored, restoredDeadlines(all)) : restored;
  const waits = newest.status === 'suspended' && newest.reason !== undefined && WAITS_FOR_PERSON.has(newest.reason);
  return waits ? withWakeAt(open) : newest.status === 'suspended' ? withTimer(open) : open;
}

/** The work for the newest evaluation of a snapshot. Earlier decisions and requests are part of the snapshot. */
function restoredWork(
  newest: Pick<Evaluation, 'status' | 'reason' | 'resumeRequest'>,
  evaluations: readonly Partial<Pick<Evaluation, 'status' | 'calls'>>[],
): SessionSummary['work'] {
  if (newest.status === 'running') return 'evaluation';
  if (newest.status !== 'suspended') return undefined;
  if (newest.resumeRequest) return 'resume';
  if (newest.reason === 'CANCELLED') return undefined;
  const isWork = (call: CallState): boolean => !hasResult(call) && isDecided(call);
  return evaluations.some(({ status, calls = [] }) => status === 'suspended' && calls.some(isWork))
    ? 'decision'
    : undefined;
}

/** Updates the status of the newest evaluation by one of its events. */
function withStatus(summary: SessionSummary, event: SummarizedEvent): SessionSummary {
  const status = summary.status && statusAfter(summary.status, event);
  if (!status || status === summary.status || summary.evaluationId !== evaluationOf(event)) return summary;
  const { stoppedSeq: _, suspendedUntil: __, ...rest } = summary;
  const settled = withWork({ ...rest, status }, status === 'running' ? 'evaluation' : undefined);
  return isOpen({ status }) ? settled : withDeadlines(uncancelled(settled), NO_DEADLINES);
}

/** A summary without the position of a cancellation. */
function unstopped(summary: SessionSummary): SessionSummary {
  const { stoppedSeq, ...rest } = uncancelled(summary);
  return stoppedSeq === undefined ? uncancelled(summary) : rest;
}

function uncancelled(summary: SessionSummary): SessionSummary {
  if (summary.cancelRequestSeq === undefined) return summary;
  const { cancelRequestSeq: _, ...rest } = summary;
  return rest;
}

function withDeadlines(summary: SessionSummary, deadlines: ApprovalDeadlines): SessionSummary {
  const { approvalDeadlines: before = NO_DEADLINES, ...rest } = summary;
  if (deadlines === before) return summary;
  return Object.keys(deadlines).length === 0 ? rest : { ...rest, approvalDeadlines: deadlines };
}

function withWakeAt({ wakeAt: _, ...summary }: SessionSummary): SessionSummary {
  const { approvalDeadlines = NO_DEADLINES, suspendedUntil } = summary;
  const deadlines = Object.values(approvalDeadlines);
  const wakeAt = earliestTime(suspendedUntil === undefined ? deadlines : [...deadlines, suspendedUntil]);
  return wakeAt === undefined ? summary : { ...summary, wakeAt };
}

/** An evaluation that waits for no person is woken by its timer alone. */
function withTimer(summary: SessionSummary): SessionSummary {
  const { suspendedUntil: wakeAt } = summary;
  return wakeAt === undefined ? summary : { ...summary, wakeAt };
}

function withWork({ work: _, wakeAt: __, ...summary }: SessionSummary, work: SessionSummary['work']): SessionSummary {
  return work === undefined ? summary : { ...summary, work };
}
