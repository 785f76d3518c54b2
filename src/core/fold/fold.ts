import { frozen } from '../frozen.ts';
import { isBuiltInEvent, type SessionEvent, type UserEvent } from '../log/events.ts';
import { isRecord } from '../log/message-problem.ts';
import type { ConversationMessage } from '../log/messages.ts';
import { isUntranslated } from '../log/upcast.ts';
import { type SessionSummary, summarizeSession } from '../summary/session-summary.ts';
import { evaluationOf } from './evaluations.ts';
import { foldRecord, type RunEvent, recordRun, type SessionRecord } from './record.ts';
import { emptyRecord } from './record-items.ts';
import { type AnySlice, applyToSlice, fitsSlice, initialItems, type SliceItems } from './slices.ts';

/** The state that a log folds to, for one set of slices. Immutable; a fold shares what it did not change. */
export interface SessionState {
  /** The last event folded. */
  readonly seq: number;
  readonly record: SessionRecord;
  readonly summary: SessionSummary | undefined;
  readonly slices: ReadonlyMap<string, SliceItems>;
  /** The newest erasure folded since this state was created. Code that caches messages compares it before using them (D58). */
  readonly erasedSeq?: number;
}

/** A fold for a set of slices: its initial state and how each event changes it. */
export interface Fold {
  readonly initial: SessionState;
  /** The types of the events that its slices fold. */
  readonly types: ReadonlySet<string>;
  /**
   * Contract: pure, total and idempotent: an event at or before `state.seq` changes nothing (I7). If a user's reducer throws, its
   * slice stays as it was and the error goes to `onError`. The same applies to the record and a built-in event without its required
   * fields, which only a foreign program can have written.
   */
  apply(state: SessionState, event: SessionEvent): SessionState;
  /** The same as `apply` for each event in turn. */
  applyAll(state: SessionState, events: readonly SessionEvent[]): SessionState;
  /** Folds one event into some slices only, by name: for slices that lag behind the others (D6). */
  applyToSlices(
    slices: ReadonlyMap<string, SliceItems>,
    event: SessionEvent,
    only?: ReadonlySet<string>,
  ): ReadonlyMap<string, SliceItems>;
}

/** Creates the fold for these slices. */
export function createFold(
  slices: readonly AnySlice[] = [],
  onError: (slice: string, event: SessionEvent, error: unknown) => void = () => {},
): Fold {
  const byType = new Map<string, AnySlice[]>();
  for (const slice of slices) {
    for (const type of Object.keys(slice.on)) byType.set(type, [...(byType.get(type) ?? []), slice]);
  }
  const initial: SessionState = {
    seq: 0,
    record: emptyRecord(),
    summary: undefined,
    slices: new Map(slices.map((slice) => [slice.name, initialItems(slice)])),
  };

  const applyToSlices: Fold['applyToSlices'] = (before, event, only) => {
    if (isUntranslated(event)) return before;
    if (!byType.has(event.type) && event.type !== 'session/restored') return before; // no slice handles it, as is the case for most events
    let after: Map<string, SliceItems> | undefined;
    const change = (name: string, items: SliceItems): void => {
      after ??= new Map(before);
      after.set(name, items);
    };
    for (const slice of byType.get(event.type) ?? []) {
      if (only && !only.has(slice.name)) continue;
      if (event.discarded && slice.rollback) continue; // its tool failed (D21)
      const items = (after ?? before).get(slice.name) ?? initialItems(slice);
      try {
        const next = applyToSlice(slice, items, event as UserEvent);
        if (next !== items) change(slice.name, next);
      } catch (error) {
        onError(slice.name, event, error);
      }
    }
    if (event.type === 'session/restored') {
      // A restore into an empty session brings all slices, otherwise only those that roll back (D21).
      const restored = event.seq === 1 ? slices : slices.filter((slice) => slice.rollback);
      for (const slice of restored) {
        const { name } = slice;
        const items = isRecord(event.slices) && Object.hasOwn(event.slices, name) ? event.slices[name] : undefined;
        if (fitsSlice(slice, items) && (!only || only.has(name))) change(name, frozen(items));
      }
    }
    return after ?? before;
  };

  const apply: Fold['apply'] = (state, event) => {
    if (event.seq <= state.seq) return state;
    if (isUntranslated(event)) return { ...state, seq: event.seq };
    let { record, summary } = state;
    try {
      if (isBuiltInEvent(event)) record = foldRecord(record, event);
      summary = summarizeSession(summary, event);
    } catch (error) {
      onError('messages', event, error);
    }
    const slices = applyToSlices(state.slices, event);
    if (event.type === 'message/erased')
      return { ...state, seq: event.seq, record, summary, slices, erasedSeq: event.seq };
    return { ...state, seq: event.seq, record, summary, slices };
  };

  const applyRun = (state: SessionState, run: readonly RunEvent[]): SessionState => {
    try {
      const record = recordRun(state.record, run);
      const summary = run.reduce<SessionSummary | undefined>(summarizeSession, state.summary);
      return { ...state, seq: run.at(-1)?.seq ?? state.seq, record, summary };
    } catch {
      return run.reduce(apply, state); // one event is malformed: only that one is skipped
    }
  };

  return {
    initial,
    types: new Set(byType.keys()),
    apply,
    applyToSlices,
    applyAll(state, events) {
      const [only] = events;
      if (events.length === 1 && only) return apply(state, only);
      if (byType.has('message/recorded') || byType.has('tool/started')) return events.reduce(apply, state);
      let current = state;
      for (let i = 0; i < events.length; ) {
        const run = runAt(events, i, current.seq);
        current = run.length > 1 ? applyRun(current, run) : apply(current, events[i] as SessionEvent);
        i += Math.max(1, run.length);
      }
      return current;
    },
  };
}

/** The consecutive messages and starts of one evaluation from `start` on, all of them after `seq`. */
function runAt(events: readonly SessionEvent[], start: number, seq: number): readonly RunEvent[] {
  let last = seq;
  let end = start;
  let evaluationId: unknown;
  for (; end < events.length; end++) {
    const event = events[end] as RunEvent & { readonly message?: Partial<ConversationMessage> };
    if ((event.type !== 'message/recorded' && event.type !== 'tool/started') || event.seq <= last) break;
    if (isUntranslated(event)) break;
    if (event.type === 'message/recorded' && !event.message) break; // malformed, written by a foreign program
    const id: unknown = evaluationOf(event);
    evaluationId ??= id;
    if (id === undefined || id !== evaluationId) break;
    last = event.seq;
  }
  return events.slice(start, end) as readonly RunEvent[];
}
