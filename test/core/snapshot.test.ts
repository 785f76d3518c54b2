import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { decodeRecord } from '../../src/core/fold/record-items.ts';
import { type ParseSnapshotOptions, parseSnapshot, type Snapshot, takeSnapshot } from '../../src/core/fold/snapshot.ts';
import { arbitraryLog, SLICES } from './arbitraries.ts';
import { answer, foldLog, logOf, messageOf, plain, recorded, result, started, user } from './log.ts';

const snapshotOf = (log: Parameters<typeof foldLog>[0]): Snapshot =>
  takeSnapshot(foldLog(log, SLICES), { sessionId: 's1', at: 'then', slices: SLICES });

const small = snapshotOf(
  logOf(
    started(),
    user('hi', 0),
    answer(1, ['a']),
    result(2, 'a'),
    recorded(messageOf('assistant', 'bye', 3, { turn: 2 }), { usage: { inputTokens: 1, outputTokens: 1 } }),
    {
      type: 'plan/added',
      step: 'one',
    },
  ),
);

/** The error of parsing, which must be a HoldfastError that states what to do. */
function refusal(input: unknown, options?: ParseSnapshotOptions): HoldfastError {
  try {
    parseSnapshot(input, options);
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError);
    const refused = error as HoldfastError;
    expect(refused.code).toBe('SNAPSHOT_INVALID');
    expect(refused.message).toContain('Open the session from its log');
    return refused;
  }
  throw new Error('the snapshot was accepted');
}

describe('D6: a snapshot restores the state', () => {
  test('any state equals the state restored from its snapshot', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const state = foldLog(log, SLICES);
        const parsed = parseSnapshot(JSON.stringify(snapshotOf(log)));
        const items = Object.fromEntries(Object.entries(parsed.slices).map(([name, slice]) => [name, slice.items]));
        const slices = new Map([...state.slices].map(([name, now]) => [name, items[name] ?? now]));
        const back = { seq: parsed.seq, summary: parsed.summary, record: decodeRecord(items), slices };
        expect(plain(back)).toEqual(plain(state));
      }),
    );
  });

  test('text and value parse alike, and parsing again changes nothing', () => {
    const parsed = parseSnapshot(JSON.stringify(small));
    expect(parsed).toEqual(JSON.parse(JSON.stringify(small)));
    expect(parseSnapshot(small)).toEqual(parsed);
    expect(parseSnapshot(parsed)).toEqual(parsed);
  });

  test('it contains every slice that persists and no other', () => {
    expect(Object.keys(small.slices).sort()).toEqual(
      [
        'messages',
        'evaluations',
        'toolStarts',
        'adapterStates',
        'usage',
        'summaries',
        'inbox',
        'plan',
        'notes',
        'audit',
        'progress',
      ].sort(),
    );
  });

  test('unknown slices are kept unchanged; strict rejects them', () => {
    const foreign = { version: 7, seq: 2, items: [{ any: 'thing' }] };
    const text = JSON.stringify({ ...small, slices: { ...small.slices, foreign } });
    expect(parseSnapshot(text).slices.foreign).toEqual(foreign);
    const taken = takeSnapshot(foldLog([]), {
      sessionId: 's1',
      at: '',
      slices: [],
      opaque: new Map([['foreign', foreign]]),
    });
    expect(taken.slices.foreign).toEqual(foreign);
    expect(refusal(text, { strict: true, known: ['plan', 'notes', 'audit', 'progress'] }).message).toContain(
      '"foreign"',
    );
  });

  test('strict accepts a snapshot of known slices, including the built-in ones', () => {
    expect(parseSnapshot(small, { strict: true, known: ['plan', 'notes', 'audit', 'progress'] }).seq).toBe(small.seq);
    expect(refusal(small, { strict: true }).message).toContain('unknown here');
  });
});

describe('I10: an invalid snapshot is rejected with a reason', () => {
  test('cut at any length', () => {
    const text = JSON.stringify(small);
    for (let length = 0; length < text.length; length++) refusal(text.slice(0, length));
  });

  test('with any one character changed it is rejected or parsed, never partly', () => {
    const text = JSON.stringify(small);
    fc.assert(
      fc.property(
        fc.nat({ max: text.length - 1 }),
        fc.constantFrom('"', '{', ']', '0', 'x', '\\', '\0', 'é'),
        (at, character) => {
          const damaged = text.slice(0, at) + character + text.slice(at + 1);
          try {
            expect(parseSnapshot(damaged).format).toBe('holdfast-snapshot');
          } catch (error) {
            expect(error).toMatchObject({ code: 'SNAPSHOT_INVALID' });
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  const slice = (items: readonly unknown[], more: object = {}): object => ({ version: 1, seq: 1, items, ...more });
  const withSlices = (slices: object): object => ({ ...small, slices: { ...small.slices, ...slices } });
  const evaluation = small.slices.evaluations?.items[0] as object;
  const message = small.slices.messages?.items[0] as object;

  test.for<readonly [string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['an array', []],
    ['an empty text', ''],
    ['another program’s JSON', { version: 1 }],
    ['no version', { ...small, version: undefined }],
    ['version 0', { ...small, version: 0 }],
    ['a version of letters', { ...small, version: '1' }],
    ['a newer version', { ...small, version: 2 }],
    ['no session', { ...small, sessionId: undefined }],
    ['no time', { ...small, at: 7 }],
    ['a negative seq', { ...small, seq: -1 }],
    ['a fractional seq', { ...small, seq: 0.5 }],
    ['an enormous seq', { ...small, seq: 2 ** 60 }],
    ['no slices', { ...small, slices: undefined }],
    ['slices that are a list', { ...small, slices: [] }],
    ['a summary of nothing', { ...small, summary: {} }],
    ['a summary whose tags are no texts', { ...small, summary: { ...small.summary, tags: [1] } }],
    ['a slice that is null', withSlices({ plan: null })],
    ['a slice without items', withSlices({ plan: { version: 1, seq: 1 } })],
    ['a slice whose items are an object', withSlices({ plan: { version: 1, seq: 1, items: {} } })],
    ['a slice without version', withSlices({ plan: { seq: 1, items: [] } })],
    ['a slice ahead of its snapshot', withSlices({ plan: slice([], { seq: small.seq + 1 }) })],
    ['a slice called __proto__', JSON.stringify(small).replace('"plan"', '"__proto__"')],
    ['a slice called constructor', JSON.stringify(small).replace('"plan"', '"constructor"')],
    ['a message that is null', withSlices({ messages: slice([null]) })],
    ['a message without role', withSlices({ messages: slice([{ ...message, role: 'robot' }]) })],
    ['a message without content', withSlices({ messages: slice([{ ...message, content: 'text' }]) })],
    ['a message with a damaged part', withSlices({ messages: slice([{ ...message, content: [null] }]) })],
    [
      'a message with a damaged call',
      withSlices({ messages: slice([{ ...message, role: 'assistant', toolCalls: [{}] }]) }),
    ],
    ['an evaluation without status', withSlices({ evaluations: slice([{ ...evaluation, status: 'gone' }]) })],
    ['an evaluation with a damaged call', withSlices({ evaluations: slice([{ ...evaluation, calls: [null] }]) })],
    ['an evaluation with damaged usage', withSlices({ evaluations: slice([{ ...evaluation, usage: {} }]) })],
    ['a start of nothing', withSlices({ toolStarts: slice([{}]) })],
    ['an adapter state of nothing', withSlices({ adapterStates: slice([{ evaluationId: 'e1' }]) })],
    ['usage of nothing', withSlices({ usage: slice([{ evaluationId: 'e1' }]) })],
    ['a summary of nothing', withSlices({ summaries: slice([null]) })],
  ])('%s', ([, input]) => {
    refusal(input);
  });

  test('a value that is not plain data: a cycle, or a bigint', () => {
    const circle: Record<string, unknown> = { ...small };
    circle.self = circle;
    refusal(circle);
    refusal({ ...small, seq: 1n });
  });

  test('100,000 levels of nesting, as text and as a value', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const text = JSON.stringify(small).replace('"items":[', `"items":[${deep},`);
    expect(refusal(text).message).toContain('levels deep');
    let value: unknown = 0;
    for (let i = 0; i < 100_000; i++) value = [value];
    refusal(withSlices({ plan: slice([value]) }));
    expect(
      refusal(withSlices({ plan: slice([JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`)]) })).message,
    ).toContain('levels deep');
  });

  test('brackets inside strings do not count as nesting', () => {
    const text = '[{"\\"'.repeat(5_000);
    const parsed = parseSnapshot(JSON.stringify(withSlices({ plan: slice([text, '\\', '"']) })));
    expect(parsed.slices.plan?.items).toEqual([text, '\\', '"']);
  });

  test('longer than the limit, which can be raised', () => {
    const text = JSON.stringify(small);
    expect(refusal(text, { maxLength: text.length - 1 }).message).toContain('maxLength');
    expect(parseSnapshot(text, { maxLength: text.length }).seq).toBe(small.seq);
    refusal('x'.repeat(100 * 1024 * 1024));
  });

  test('__proto__ in an item stays an item and does not change a prototype', () => {
    const text = JSON.stringify(withSlices({ plan: slice(['PLACE']) })).replace(
      '"PLACE"',
      '{"__proto__":{"polluted":true}}',
    );
    const [item] = parseSnapshot(text).slices.plan?.items ?? [];
    expect(Object.hasOwn(item as object, '__proto__')).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('D6: migrations', () => {
  const old = { ...small, version: 1, sessionId: undefined, session: 's1' };
  const migrations = [
    ({ session, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, sessionId: session }),
    (snapshot: Readonly<Record<string, unknown>>) => ({ ...snapshot, at: `${snapshot.at}!` }),
  ];

  test('migrate an old snapshot step by step', () => {
    expect(parseSnapshot(JSON.stringify(old), { migrations })).toMatchObject({
      version: 3,
      sessionId: 's1',
      at: 'then!',
    });
    expect(parseSnapshot({ ...small, version: 2 }, { migrations })).toMatchObject({ version: 3, at: 'then!' });
    expect(parseSnapshot({ ...small, version: 3 }, { migrations })).toMatchObject({ version: 3, at: 'then' });
  });

  test('a snapshot that is too new, or that a migration rejects, is rejected', () => {
    expect(refusal({ ...small, version: 4 }, { migrations }).message).toContain('upgrade');
    const broken = [
      () => {
        throw new Error('cannot');
      },
    ];
    expect(refusal(small, { migrations: broken }).cause).toEqual(new Error('cannot'));
  });

  test('the result of a migration is checked like any snapshot', () => {
    refusal(small, { migrations: [() => ({})] });
  });
});
