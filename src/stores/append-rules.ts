import type { AppendOptions } from '../ports/store.ts';
import { fenceConflict, sequenceConflict } from './refusals.ts';

/** What an append is checked against: where its session stands. */
export interface SessionPosition {
  readonly seq: number;
  /** The fence of the newest lease, if there ever was one. */
  readonly fence: number | undefined;
}

/** Refuses an append whose sequence or fence is stale (I6). A stale fence is said first: it is the one that cannot be mended. */
export function refuseStale(sessionId: string, session: SessionPosition, options: AppendOptions): void {
  const { fence, expectedSeq } = options;
  if (fence !== undefined && fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
  if (expectedSeq !== session.seq) throw sequenceConflict(sessionId, session.seq, expectedSeq);
}
