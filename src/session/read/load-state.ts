import type { Fold, SessionState } from '../../core/fold/fold.ts';
import { decodeRecord, RECORD_SLICES } from '../../core/fold/record-items.ts';
import { type AnySlice, fitsSlice, initialItems, type SliceItems } from '../../core/fold/slices.ts';
import { parseSnapshot, RECORD_VERSION, type SliceSnapshot, type Snapshot } from '../../core/fold/snapshot.ts';
import { frozen } from '../../core/frozen.ts';
import type { SessionEvent, SessionRestored } from '../../core/log/events.ts';
import { type UpcastErrorHandler, type Upcasters, upcastPage } from '../../core/log/upcast.ts';
import type { Store } from '../../ports/store.ts';
import { sha256 } from './contents.ts';

/** A session's state as it was loaded, and how much of the log that took. */
export interface LoadedState {
  readonly state: SessionState;
  /** Slices of the snapshot that this process does not define: they go into the next one (D6). */
  readonly opaque: ReadonlyMap<string, SliceSnapshot>;
  /** Events that had to be read although a snapshot was there or could have been. */
  readonly replayed: number;
}

interface LoadOptions {
  readonly incarnation: number;
  readonly fold: Fold;
  readonly slices: readonly AnySlice[];
  readonly upcasters: Upcasters;
  readonly onUpcastError: UpcastErrorHandler;
}

/**
 * Folds a session from its newest snapshot and the log after it. What the snapshot lacks, or holds in another version, is
 * folded from the start of the log (D6); a snapshot that cannot be used is as good as none (D17), and so is one from before an
 * erasure: it may hold what was erased since (D58).
 */
export async function loadState(store: Store, sessionId: string, options: LoadOptions): Promise<LoadedState> {
  const nothing = fromNothing(options.fold);
  const snapshot = await usableSnapshot(store, sessionId, options.incarnation);
  const loaded = await replay(store, sessionId, snapshot ? startFrom(snapshot, options) : nothing, options);
  return loaded.erasedSince ? replay(store, sessionId, nothing, options) : loaded;
}

/** Where folding begins, and what was taken from a snapshot. */
interface Start {
  readonly state: SessionState;
  /** Slices that are behind the state, each from its own seq. */
  readonly late: LateSlices;
  readonly opaque: ReadonlyMap<string, SliceSnapshot>;
  /** Events up to here need not be read. */
  readonly after: number;
  /** The earliest seq at which something that was taken was folded; absent when nothing was. */
  readonly keptFrom?: number;
}

interface LateSlices {
  readonly items: ReadonlyMap<string, SliceItems>;
  readonly seqs: ReadonlyMap<string, number>;
}

function fromNothing(fold: Fold): Start {
  return { state: fold.initial, late: { items: new Map(), seqs: new Map() }, opaque: new Map(), after: 0 };
}

function startFrom(snapshot: Snapshot, { fold, slices }: LoadOptions): Start {
  const known = new Set<string>([...RECORD_SLICES, ...slices.map((slice) => slice.name)]);
  const opaque = new Map(Object.entries(snapshot.slices).filter(([name]) => !known.has(name)));
  const opaqueFrom = Math.min(...Array.from(opaque.values(), (slice) => slice.seq));
  const record: Record<string, readonly unknown[]> = {};
  for (const name of RECORD_SLICES) {
    const slice = snapshot.slices[name];
    // The record is folded as one: when a part of it cannot be used, none of it is.
    if (slice?.version !== RECORD_VERSION || slice.seq !== snapshot.seq || !snapshot.summary) {
      return { ...fromNothing(fold), opaque, keptFrom: opaqueFrom };
    }
    record[name] = slice.items;
  }
  const items = new Map<string, SliceItems>();
  const late = { items: new Map<string, SliceItems>(), seqs: new Map<string, number>() };
  let keptFrom = Math.min(snapshot.seq, opaqueFrom);
  for (const slice of slices) {
    const kept = Object.hasOwn(snapshot.slices, slice.name) ? snapshot.slices[slice.name] : undefined;
    const isUsable = slice.persist && kept?.version === slice.version && fitsSlice(slice, kept.items);
    const usable = isUsable ? kept : undefined;
    const current = frozen(usable?.items ?? initialItems(slice));
    items.set(slice.name, current);
    if (usable) keptFrom = Math.min(keptFrom, usable.seq);
    if (usable?.seq !== snapshot.seq) {
      late.items.set(slice.name, current);
      late.seqs.set(slice.name, usable?.seq ?? 0);
    }
  }
  return {
    state: { seq: snapshot.seq, record: decodeRecord(record), summary: snapshot.summary, slices: items },
    late,
    opaque,
    after: Math.min(snapshot.seq, ...late.seqs.values()),
    keptFrom,
  };
}

/** Folds the log on from a start, unless something was erased since what was taken from a snapshot was folded. */
async function replay(
  store: Store,
  sessionId: string,
  start: Start,
  { fold, slices, upcasters, incarnation, onUpcastError }: LoadOptions,
): Promise<LoadedState & { readonly erasedSince: boolean }> {
  const { keptFrom = Number.POSITIVE_INFINITY } = start;
  let { state, late, opaque } = start;
  let replayed = 0;
  let erasedSince = false;
  const reading = store.read(sessionId, { after: start.after, incarnation });
  for await (const page of reading.pages?.() ?? onePage(reading)) {
    const events = upcastPage(page, upcasters, onUpcastError);
    opaque = withRestoredSlices(opaque, events, slices);
    erasedSince = events.some((event) => event.type === 'message/erased' && event.seq > keptFrom);
    if (erasedSince) break;
    replayed += events.length;
    for (const event of events) {
      if (event.seq > start.state.seq) break;
      late = foldLate(fold, late, event);
      if (event.seq === start.state.seq) state = { ...state, slices: new Map([...state.slices, ...late.items]) };
    }
    state = fold.applyAll(state, events);
  }
  return { state, opaque, replayed, erasedSince };
}

/** A store that has no pages: each event is one. */
async function* onePage(reading: AsyncIterable<SessionEvent>): AsyncIterable<readonly SessionEvent[]> {
  for await (const event of reading) yield [event];
}

function foldLate(fold: Fold, late: LateSlices, event: SessionEvent): LateSlices {
  const due = new Set([...late.seqs].filter(([, seq]) => event.seq > seq).map(([name]) => name));
  return due.size === 0 ? late : { ...late, items: fold.applyToSlices(late.items, event, due) };
}

/** The slices that this process does not define, with those that a restored snapshot brought: they go into the next snapshot (D6). */
export function withRestoredSlices(
  opaque: ReadonlyMap<string, SliceSnapshot>,
  events: readonly SessionEvent[],
  slices: readonly AnySlice[],
): ReadonlyMap<string, SliceSnapshot> {
  const [first] = events;
  if (first?.seq !== 1 || first.type !== 'session/restored') return opaque;
  const { slices: restored = {}, versions = {} } = first as Partial<SessionRestored>;
  const known = new Set<string>([...RECORD_SLICES, ...slices.map((slice) => slice.name)]);
  const more = Object.entries(restored)
    .filter(([name, items]) => !known.has(name) && Array.isArray(items))
    .map(([name, items]): [string, SliceSnapshot] => [name, { version: versions[name] ?? 1, seq: 1, items }]);
  return new Map([...more, ...opaque]);
}

/** The slices of the stored snapshot that this process does not define: another process may have written it since this one opened. */
export async function storedOpaque(
  store: Store,
  sessionId: string,
  { slices, incarnation }: Pick<LoadOptions, 'slices' | 'incarnation'>,
): Promise<ReadonlyMap<string, SliceSnapshot>> {
  const snapshot = await usableSnapshot(store, sessionId, incarnation);
  const known = new Set<string>([...RECORD_SLICES, ...slices.map((slice) => slice.name)]);
  return new Map(Object.entries(snapshot?.slices ?? {}).filter(([name]) => !known.has(name)));
}

/** The stored snapshot, unless it is damaged, altered, of a newer version, or ahead of its log. */
async function usableSnapshot(store: Store, sessionId: string, incarnation: number): Promise<Snapshot | undefined> {
  const stored = await store.readSnapshot(sessionId, { incarnation });
  if (!stored) return undefined;
  try {
    // It is our own: however long it is, and never without a checksum.
    const snapshot = parseSnapshot(stored.data, { maxLength: Number.POSITIVE_INFINITY, hash: sha256 });
    if (snapshot.checksum === undefined) return undefined;
    return snapshot.sessionId === sessionId && snapshot.seq <= (await store.head(sessionId)).seq ? snapshot : undefined;
  } catch {
    return undefined;
  }
}
