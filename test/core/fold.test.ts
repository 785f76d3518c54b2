import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFold, type SessionState } from '../../src/core/fold/fold.ts';
import { defineSlice } from '../../src/core/fold/slices.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { arbitraryLog, SLICES } from './arbitraries.ts';
import { foldLog, logOf, messageOf, plain, recorded, started, timeOf } from './log.ts';

describe('I7: a fold depends only on the events', () => {
  test('any split into batches, with repeated events, gives the same state', () => {
    fc.assert(
      fc.property(
        arbitraryLog,
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.infiniteStream(fc.nat({ max: 5 })),
        (log, cuts, again) => {
          const fold = createFold(SLICES);
          const edges = [...cuts.map((cut) => cut % (log.length + 1)), log.length].sort((a, b) => a - b);
          let state = fold.initial;
          let from = 0;
          for (const edge of edges) {
            // A batch may start before the end of the last one: a reader that reconnects receives events twice.
            const back = Math.max(0, from - (again.next().value ?? 0));
            for (const event of log.slice(back, edge)) {
              state = fold.apply(state, event);
              if (again.next().value === 0) state = fold.apply(state, event);
            }
            from = edge;
          }
          expect(plain(state)).toEqual(plain(foldLog(log, SLICES)));
        },
      ),
    );
  });

  test('applyAll gives the same state as apply for each event, also with malformed messages', () => {
    const breakage = fc.constantFrom(undefined, { message: null }, { message: { evaluationId: 'e1' } }, { seq: 1 });
    const slices = fc.constantFrom([], SLICES);
    fc.assert(
      fc.property(
        arbitraryLog,
        fc.array(fc.nat()),
        breakage,
        fc.nat(),
        slices,
        (log, cuts, broken, where, registered) => {
          const at = where % Math.max(1, log.length);
          const events = log.map((event, i) => (i === at ? ({ ...event, ...broken } as SessionEvent) : event));
          const told = { one: [] as number[], page: [] as number[] };
          const one = createFold(registered, (_, event) => told.one.push(event.seq));
          const page = createFold(registered, (_, event) => told.page.push(event.seq));
          const edges = [0, ...cuts.map((cut) => cut % (events.length + 1)), events.length].sort((a, b) => a - b);
          const paged = edges.reduce(
            (state, edge, i) => page.applyAll(state, events.slice(edges[i - 1] ?? 0, edge)),
            page.initial,
          );
          expect(plain(paged)).toEqual(plain(events.reduce((state, event) => one.apply(state, event), one.initial)));
          expect(told.page).toEqual(told.one);
        },
      ),
    );
  });

  test('an event that was folded before returns the same state object', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(), (log, pick) => {
        const state = foldLog(log, SLICES);
        const event = log[pick % Math.max(1, log.length)];
        if (event) expect(createFold(SLICES).apply(state, event)).toBe(state);
      }),
    );
  });

  test('folding never changes an earlier state, also when two folds continue from it', () => {
    fc.assert(
      fc.property(arbitraryLog, arbitraryLog, arbitraryLog, (begin, one, other) => {
        const fold = createFold(SLICES);
        const base = foldLog(begin, SLICES);
        const before = plain(base);
        const on = (log: readonly SessionEvent[]): SessionState =>
          log.reduce((state, event) => fold.apply(state, { ...event, seq: state.seq + 1 }), base);
        const first = on(one);
        const seen = plain(first);
        on(other);
        expect(plain(base)).toEqual(before);
        expect(plain(first)).toEqual(seen);
      }),
    );
  });

  test('the seq of a state is that of its last event, for any events', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        expect(foldLog(log, SLICES).seq).toBe(log.length);
      }),
    );
  });
});

describe('a fold is total', () => {
  /** Malformed built-in events, as only a foreign program can write them. */
  const HOSTILE: readonly (readonly [string, object])[] = [
    ['a message that is missing', { type: 'message/recorded' }],
    ['a message that is null', { type: 'message/recorded', message: null }],
    [
      'calls that are no list',
      { type: 'message/recorded', message: { ...messageOf('assistant', '', 0), toolCalls: 7 } },
    ],
    ['a restore of nothing', { type: 'session/restored' }],
    ['a restore of damaged messages', { type: 'session/restored', slices: { messages: [null] } }],
    ['a restore of text', { type: 'session/restored', slices: { plan: 'text' } }],
    ['usage that is null', { type: 'history/summarized', evaluationId: 'e1', key: 'k', text: '', usage: null }],
    ['a description of nothing', { type: 'session/described' }],
    ['a call of nothing', { type: 'tool/started' }],
    ['a name of Object.prototype', { type: 'constructor' }],
    ['a name of Object.prototype', { type: '__proto__' }],
  ];

  test.for(HOSTILE)('I10: %s does not stop the fold and does not affect other events', ([, hostile]) => {
    const errors: unknown[] = [];
    const fold = createFold(SLICES, (slice) => errors.push(slice));
    const log = [
      ...logOf(started(), recorded(messageOf('user', 'hi', 0))),
      { ...hostile, seq: 3, at: timeOf(3) } as SessionEvent,
      { seq: 4, at: timeOf(4), type: 'plan/added' as string, step: 'on' } as SessionEvent,
    ];
    const state = log.reduce((before, event) => fold.apply(before, event), fold.initial);
    expect(state.seq).toBe(4);
    expect(state.record.messages.at(0)).toEqual(messageOf('user', 'hi', 0));
    expect(JSON.stringify(state.slices.get('plan'))).toContain('on');
  });

  const REDUCERS: readonly (readonly [string, () => unknown])[] = [
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['forgets to return', () => undefined],
    ['returns a promise', () => Promise.resolve([])],
    ['returns an object', () => ({ length: 0 })],
  ];

  test.for(REDUCERS)(
    'a reducer that %s does not change its slice, is reported, and does not affect other slices',
    ([, reducer]) => {
      const broken = defineSlice({ name: 'broken', initial: [1], on: { 'a/b': reducer as () => readonly number[] } });
      const sound = defineSlice({ name: 'sound', initial: [] as number[], on: { 'a/b': (items) => [...items, 1] } });
      const reported: string[] = [];
      const fold = createFold([broken, sound], (slice) => reported.push(slice));
      const state = fold.applyAll(fold.initial, logOf({ type: 'a/b' }));
      expect([...state.slices]).toEqual([
        ['broken', [1]],
        ['sound', [1]],
      ]);
      expect(reported).toEqual(['broken']);
    },
  );
});

describe('D21: events that a failed tool dispatched', () => {
  const log = logOf({ type: 'plan/added', step: 'kept' }, { type: 'plan/added', step: 'gone', discarded: true });

  test('are skipped by slices that roll back and folded by those that do not', () => {
    const { slices } = plain(foldLog(log, SLICES)) as { slices: Record<string, { step?: string }[]> };
    expect(slices.plan?.map((item) => item.step)).toEqual(['kept']);
    expect(slices.focus?.map((item) => item.step)).toEqual(['kept']);
    expect(slices.audit).toEqual(['begin', 'kept', 'gone']);
  });
});

describe('D21: a restore', () => {
  const restored = { type: 'session/restored', slices: { plan: [{ step: 'old' }], audit: ['old'] } } as const;

  test('restores the slices that roll back and changes neither the others nor the conversation', () => {
    const log = logOf(started(), recorded(messageOf('user', 'hi', 0)), { type: 'plan/added', step: 'new' }, restored);
    const { slices, record } = foldLog(log, SLICES);
    expect(slices.get('plan')).toEqual([{ step: 'old' }]);
    expect(slices.get('audit')).toEqual(['begin', 'message', 'new']);
    expect(record.messages.length).toBe(1);
  });

  test('into an empty session brings every slice that it contains', () => {
    const { slices } = foldLog(logOf(restored), SLICES);
    expect(slices.get('plan')).toEqual([{ step: 'old' }]);
    expect(slices.get('audit')).toEqual(['old']);
  });

  test('without a conversation removes no messages', () => {
    const captured = {
      type: 'adapter/captured',
      snapshot: { id: 'x', evaluationId: 'e1', state: { adapterType: 't' }, resumable: true, capturedAt: 'then' },
    } as const;
    expect(foldLog(logOf(captured, restored), SLICES).record.adapterStates.length).toBe(1);
  });
});
