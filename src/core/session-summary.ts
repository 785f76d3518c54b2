import type { Evaluation } from './evaluations.ts';
import { isBuiltInEvent, type SessionEvent } from './events.ts';

/**
 * One row of a list of sessions, folded from the same events as everything else. A store keeps it beside the log only so
 * that listing does not read every log; it can always be folded again.
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
  /** What a runner could do now: go on with the open evaluation, or act on a decision that a person took. */
  readonly work?: 'evaluation' | 'decision';
  /** When there will be work, if nothing happens before: a timer, or the expiry of an approval. */
  readonly wakeAt?: string;
}

/** Folds one event into a summary; returns the same object when the event says nothing about it. */
export function summarizeSession(summary: SessionSummary | undefined, event: SessionEvent): SessionSummary {
  const before: SessionSummary = summary ?? { tags: [], metadata: {}, createdAt: event.at };
  if (!isBuiltInEvent(event)) return before;
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
      return before.evaluationId === undefined ? withRestored(before, event.slices.evaluations) : before;
    case 'evaluation/started':
      if (event.conversationId !== 'main') return before;
      return withWork({ ...before, status: 'running', evaluationId: event.evaluationId }, 'evaluation');
    case 'evaluation/suspended':
      return settle(before, event.evaluationId, 'suspended');
    case 'evaluation/completed':
      return settle(before, event.evaluationId, 'completed');
    case 'evaluation/failed':
      return settle(before, event.evaluationId, 'failed');
    case 'evaluation/superseded':
      return settle(before, event.evaluationId, 'superseded');
    case 'tool/approved':
    case 'tool/denied':
    case 'tool/settled':
      return before.status === 'suspended' ? withWork(before, 'decision') : before;
    case 'message/recorded':
      return before.status === 'suspended' ? settle(before, event.message.evaluationId, 'running') : before;
    case 'evaluation/resumed':
    case 'tool/started':
      return before.status === 'suspended' ? settle(before, event.evaluationId, 'running') : before;
    default:
      return before;
  }
}

/** Into an empty session a snapshot brings its evaluations (D21); the newest of the main conversation is what it is at. */
function withRestored(summary: SessionSummary, evaluations: readonly unknown[] = []): SessionSummary {
  const newest = (evaluations as readonly Pick<Evaluation, 'id' | 'conversationId' | 'status'>[]).findLast(
    (evaluation) => evaluation.conversationId === 'main',
  );
  if (!newest) return summary;
  const work = newest.status === 'running' ? 'evaluation' : undefined;
  return withWork({ ...summary, status: newest.status, evaluationId: newest.id }, work);
}

/** Follows the newest evaluation; what has ended stays as it ended. */
function settle(
  summary: SessionSummary,
  evaluationId: string,
  status: NonNullable<SessionSummary['status']>,
): SessionSummary {
  const open = summary.status === 'running' || summary.status === 'suspended';
  if (!open || summary.evaluationId !== evaluationId || summary.status === status) return summary;
  return withWork({ ...summary, status }, status === 'running' ? 'evaluation' : undefined);
}

function withWork({ work: _, wakeAt: __, ...summary }: SessionSummary, work: SessionSummary['work']): SessionSummary {
  return work === undefined ? summary : { ...summary, work };
}
