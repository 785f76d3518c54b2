import type { SessionEvent } from '../core/events.ts';
import type { Fold, SessionState } from '../core/fold.ts';
import { decodeRecord, encodeRecord } from '../core/record.ts';
import type { AnySlice, SliceItems } from '../core/slices.ts';
import { parseSnapshot, RECORD_VERSION, type SliceSnapshot, type Snapshot } from '../core/snapshot.ts';
import { type Upcasters, upcast } from '../core/upcast.ts';
import type { Store } from '../ports/store.ts';

/** A session's state as it was loaded, and how much of the log that took. */
export interface LoadedState {
  readonly state: SessionState;
  /** Slices of the snapshot that nobody here knows: they go into the next one (D6). */
  readonly opaque: ReadonlyMap<string, SliceSnapshot>;
  /** Events that had to be read although a snapshot was there or could have been. */
  readonly replayed: number;
}

/**
 * Folds a session from its newest snapshot and the log after it. What the snapshot lacks, or holds in another version, is
 * folded from the start of the log (D6); a snapshot that cannot be used is as good as none (D17).
 */
export async function loadState(
  store: Store,
  sessionId: string,
  options: { readonly fold: Fold; readonly slices: readonly AnySlice[]; readonly upcasters: Upcasters },
): Promise<LoadedState> {
  const { fold, slices, upcasters } = options;
  const start = startFrom(await usableSnapshot(store, sessionId), fold, slices);
  let { state } = start;
  let late = start.lateSlices;
  let replayed = 0;
  for await (const raw of store.read(sessionId, { after: start.after })) {
    const event = upcast(raw, upcasters);
    replayed++;
    if (event.seq <= start.state.seq) {
      late = foldLate(fold, late, event);
      if (event.seq === start.state.seq) state = { ...state, slices: new Map([...state.slices, ...late.items]) };
    } else state = fold.apply(state, event);
  }
  return { state, opaque: start.opaque, replayed };
}

interface Start {
  readonly state: SessionState;
  readonly lateSlices: LateSlices;
  readonly opaque: ReadonlyMap<string, SliceSnapshot>;
  readonly after: number;
}

/** Slices that are behind the snapshot, each from its own seq. */
interface LateSlices {
  readonly items: ReadonlyMap<string, SliceItems>;
  readonly seqs: ReadonlyMap<string, number>;
}

const NOTHING_LATE: LateSlices = { items: new Map(), seqs: new Map() };

function startFrom(snapshot: Snapshot | undefined, fold: Fold, slices: readonly AnySlice[]): Start {
  const fresh: Start = { state: fold.initial, lateSlices: NOTHING_LATE, opaque: new Map(), after: 0 };
  if (!snapshot) return fresh;
  const opaque = new Map(Object.entries(snapshot.slices));
  const recordSlices: Record<string, readonly unknown[]> = {};
  for (const name of Object.keys(encodeRecord(fold.initial.record))) {
    const slice = snapshot.slices[name];
    opaque.delete(name);
    // The record is folded as one: when a part of it cannot be used, none of it is.
    if (slice?.version !== RECORD_VERSION || slice.seq !== snapshot.seq) return withOpaque(fresh, snapshot, slices);
    recordSlices[name] = slice.items;
  }
  const items = new Map<string, SliceItems>();
  const late = { items: new Map<string, SliceItems>(), seqs: new Map<string, number>() };
  for (const slice of slices) {
    const kept = snapshot.slices[slice.name];
    opaque.delete(slice.name);
    const usable = slice.persist && kept?.version === slice.version;
    const current = usable ? kept.items : slice.initial;
    const seq = usable ? kept.seq : 0;
    items.set(slice.name, current);
    if (seq < snapshot.seq) {
      late.items.set(slice.name, current);
      late.seqs.set(slice.name, seq);
    }
  }
  return {
    state: { seq: snapshot.seq, record: decodeRecord(recordSlices), summary: snapshot.summary, slices: items },
    lateSlices: late,
    opaque,
    after: Math.min(snapshot.seq, ...late.seqs.values()),
  };
}

function withOpaque(start: Start, snapshot: Snapshot, slices: readonly AnySlice[]): Start {
  const known = new Set([...Object.keys(encodeRecord(start.state.record)), ...slices.map((slice) => slice.name)]);
  return { ...start, opaque: new Map(Object.entries(snapshot.slices).filter(([name]) => !known.has(name))) };
}

function foldLate(fold: Fold, late: LateSlices, event: SessionEvent): LateSlices {
  const due = new Set([...late.seqs].filter(([, seq]) => event.seq > seq).map(([name]) => name));
  return due.size === 0 ? late : { ...late, items: fold.applyToSlices(late.items, event, due) };
}

/** The stored snapshot, unless it is damaged, of a newer version, or ahead of its log. */
async function usableSnapshot(store: Store, sessionId: string): Promise<Snapshot | undefined> {
  const stored = await store.readSnapshot(sessionId);
  if (!stored) return undefined;
  try {
    const snapshot = parseSnapshot(stored.data);
    return snapshot.sessionId === sessionId && snapshot.seq <= (await store.head(sessionId)) ? snapshot : undefined;
  } catch {
    return undefined;
  }
}
