import { HoldfastError } from '../../core/errors.ts';
import type { Fold } from '../../core/fold/fold.ts';
import { RECORD_SLICES } from '../../core/fold/record-items.ts';
import { type AnySlice, fitsSlice, initialItems, itemsAsArray, type SliceItems } from '../../core/fold/slices.ts';
import { RECORD_VERSION, type Snapshot } from '../../core/fold/snapshot.ts';
import type { SessionEvent, SessionRestored } from '../../core/log/events.ts';

/**
 * The slices that restoring a snapshot sets: the items of the slices that roll back and, into an empty session, everything else the
 * snapshot holds. A slice that this process does not define is kept (D6): a process that defines it finds it. One that the
 * snapshot lacks, or has in another version, is folded from the session's own log up to there.
 */
export async function restoredSlices(
  snapshot: Snapshot,
  into: {
    readonly sessionId: string;
    readonly seq: number;
    /** When the session's first event was appended. */
    readonly createdAt: string | undefined;
    readonly slices: readonly AnySlice[];
    readonly fold: Fold;
    /** The first `limit` events of the session. */
    readonly read: (limit: number) => AsyncIterable<SessionEvent>;
  },
): Promise<Pick<SessionRestored, 'slices' | 'versions'>> {
  const empty = into.seq === 0;
  if (!empty && !isOwn(snapshot, into)) throw ofAnotherSession(snapshot, into);
  const known = new Map(into.slices.map((slice) => [slice.name, slice]));
  const record = new Set<string>(RECORD_SLICES);
  const restored: Record<string, readonly unknown[]> = {};
  const versions: Record<string, number> = {};
  for (const [name, kept] of Object.entries(snapshot.slices)) {
    const slice = known.get(name);
    if (record.has(name)) {
      if (!empty) continue;
      if (kept.version !== RECORD_VERSION) throw otherVersion(snapshot);
    } else if (slice) {
      if (kept.version !== slice.version || !fitsSlice(slice, kept.items) || !(slice.rollback || empty)) continue;
    } else if (kept.seq !== snapshot.seq && !empty) continue; // it had not been folded up to there
    restored[name] = kept.items;
    if (!slice && !record.has(name)) versions[name] = kept.version;
  }
  const missing = into.slices.filter((slice) => slice.rollback && !Object.hasOwn(restored, slice.name));
  const result = { slices: restored, ...(Object.keys(versions).length > 0 && { versions }) };
  if (missing.length === 0 || empty) return result;
  const names = new Set(missing.map((slice) => slice.name));
  let items: ReadonlyMap<string, SliceItems> = new Map(missing.map((slice) => [slice.name, initialItems(slice)]));
  for await (const event of into.read(snapshot.seq)) items = into.fold.applyToSlices(items, event, names);
  for (const [name, folded] of items) restored[name] = itemsAsArray(folded);
  return result;
}

/** Whether a snapshot was taken of this very session, and not of one that had its id before, or has it in another store. */
function isOwn(
  snapshot: Snapshot,
  into: { readonly sessionId: string; readonly seq: number; readonly createdAt: string | undefined },
): boolean {
  const { sessionId, seq, summary } = snapshot;
  return sessionId === into.sessionId && seq <= into.seq && (!summary || summary.createdAt === into.createdAt);
}

function ofAnotherSession(
  snapshot: Snapshot,
  into: { readonly sessionId: string; readonly seq: number },
): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    `this is a snapshot of ${snapshot.sessionId === into.sessionId ? 'another session that was called' : 'session'} ${snapshot.sessionId} at ${snapshot.seq}, and session ${into.sessionId} has ${into.seq} events of its own; restore it into a new session (openSession with another id), or restore a snapshot of this one`,
  );
}

function otherVersion(snapshot: Snapshot): HoldfastError {
  return new HoldfastError(
    'SNAPSHOT_INVALID',
    `the conversation in this snapshot of session ${snapshot.sessionId} was folded by another version; open the session from its log`,
  );
}
