import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  isConversationEvent,
  pendingBlocks,
  reduceConversation,
  reduceConversationEvents,
  reviveConversationState,
  type SessionConversationState,
  threadTree,
  usageTotals,
} from '../../src/conversation.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { anyEvent } from './arbitraries.ts';
import { spawned, stateAfter, T0, text, upsert } from './builders.ts';

/** Random whole numbers below a limit. */
function numbers(seed: number): (below: number) => number {
  const random = randomFrom(seed);
  return (below) => Math.floor(random() * below);
}

const cyclic: Record<string, unknown> = { type: 'block:upsert', timestamp: T0 };
cyclic.block = cyclic;
const selfSimilar: Record<string, unknown> = { name: 'x' };
selfSimilar.self = selfSimilar;
let deep: unknown = 'bottom';
for (let i = 0; i < 20_000; i++) deep = [deep];
const huge = 'x'.repeat(1_000_000);

const HOSTILE: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 10n, Symbol('s')],
  ...['', ' ', 'main', 'agent-', 'agent-main', '__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'length'],
  ...[
    't1',
    'a1',
    'subagent:t1',
    'result:c1',
    'pending',
    'complete',
    'block:upsert',
    '\u0000',
    '\ud800',
    '<script>alert(1)</script>',
  ],
  ...[
    {},
    [],
    [null],
    { length: 3 },
    () => 1,
    new Map([[1, 2]]),
    new Date(Number.NaN),
    new Proxy({}, {}),
    Object.create(null),
  ],
  ...[JSON.parse('{"__proto__":{"polluted":true},"id":"x"}'), cyclic, selfSimilar, deep, huge],
];
const KEYS = [
  'type',
  'conversationId',
  'timestamp',
  'block',
  'blockId',
  'delta',
  'offset',
  'toolUseId',
  'agentId',
  'status',
];
const MORE_KEYS = [
  'id',
  'content',
  'message',
  'usage',
  'input',
  'parts',
  'attachments',
  'reason',
  '__proto__',
  'constructor',
];

type Bag = Record<string, unknown>;

/** The event with one to three of its fields, at any depth, replaced, removed or added. */
function mutated(event: unknown, below: (n: number) => number): unknown {
  const copy = structuredClone(event);
  for (let n = 1 + below(3); n > 0; n--) {
    let bag = copy as Bag;
    for (let depth = below(3); depth > 0; depth--) {
      const inner = Object.values(bag).filter(
        (value) => typeof value === 'object' && value !== null && !Object.isFrozen(value),
      );
      const next = inner[below(Math.max(1, inner.length))];
      if (next === undefined || HOSTILE.includes(next)) break;
      bag = next as Bag;
    }
    const own = Object.keys(bag);
    const keys = [...own, ...own, ...KEYS, ...MORE_KEYS];
    const key = keys[below(keys.length)] ?? 'type';
    if (below(5) === 0) delete bag[key];
    else
      Object.defineProperty(bag, key, {
        value: HOSTILE[below(HOSTILE.length)],
        enumerable: true,
        writable: true,
        configurable: true,
      });
  }
  return copy;
}

/** Checks what holds for every state of the reducer. */
function expectSound(state: SessionConversationState): void {
  const threads = [
    { id: 'main', blocks: state.blocks },
    ...state.subagents.map((s) => ({ id: s.toolUseId, blocks: s.blocks })),
  ];
  expect(new Set(threads.map((thread) => thread.id)).size).toBe(threads.length);
  for (const { id, blocks } of threads) {
    expect(new Set(blocks.map((block) => block.id)).size).toBe(blocks.length);
    expect(blocks.filter((block) => block.conversationId !== id)).toEqual([]);
    expect(blocks.filter((block) => !isConversationEvent({ type: 'block:upsert', timestamp: T0, block }))).toEqual([]);
  }
  const pending = threads.flatMap(({ blocks }) => blocks.filter((block) => block.status === 'pending'));
  expect(pendingBlocks(state)).toEqual(pending);
  const count = (node: ReturnType<typeof threadTree>): number =>
    node.children.reduce((n, child) => n + count(child), 1);
  expect(count(threadTree(state))).toBe(threads.length);
  usageTotals(state);
}

test('I10: 60,000 mutated and hostile events never throw, and every state stays valid', () => {
  const below = numbers(SEED);
  const good = fc.sample(anyEvent, { numRuns: 2000, seed: 1 });
  let accepted = 0;
  for (let round = 0; round < 120; round++) {
    let state = createConversationState();
    const batch: ConversationEvent[] = [];
    for (let i = 0; i < 500; i++) {
      const origin = good[below(good.length)];
      const kind = below(20);
      const event = kind === 0 ? HOSTILE[below(HOSTILE.length)] : kind < 5 ? origin : mutated(origin, below);
      const next = reduceConversation(state, event as ConversationEvent);
      if (next !== state) accepted++;
      state = next;
      batch.push(event as ConversationEvent);
    }
    expectSound(state);
    const atOnce = reduceConversationEvents(createConversationState(), batch);
    expect([...atOnce.blocks].map((block) => block.id)).toEqual([...state.blocks].map((block) => block.id));
    expect(atOnce.subagents.length).toBe(state.subagents.length);
  }
  expect(accepted).toBeGreaterThan(10_000);
  expect(({} as Bag).polluted).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test('events apply to any value as a state, or to an empty one', () => {
  for (const value of [
    ...HOSTILE,
    { blocks: HOSTILE, subagents: HOSTILE },
    { blocks: [text('a', 'x')], subagents: [{ toolUseId: 't', blocks: HOSTILE }] },
  ]) {
    const state = reduceConversation(reviveConversationState(value), upsert(text('new', 'x'), 't'));
    expectSound(state);
    expect(state.subagents.at(-1)?.blocks.at(-1)).toMatchObject({ id: 'new' });
    const unrevived = reduceConversation(value as SessionConversationState, upsert(text('new', 'x'), 't'));
    expect(JSON.stringify([...unrevived.blocks].map((b) => b.id))).toBe(
      JSON.stringify([...state.blocks].map((b) => b.id)),
    );
  }
});

test('values that contain themselves or are nested 20,000 deep are compared in bounded time and stack', () => {
  for (const input of [selfSimilar, deep]) {
    const block = { ...text('a', 'x'), type: 'unknown', sourceType: 's', data: input } as const;
    const state = stateAfter(upsert(block));
    expect(reduceConversation(state, upsert({ ...block }))).toBe(state);
    const copy =
      input === deep ? JSON.parse(`${'['.repeat(20_000)}"bottom"${']'.repeat(20_000)}`) : structuredClone(input);
    const again = reduceConversation(state, upsert({ ...block, data: copy }));
    expect(again === state).toBe(input === deep);
  }
});

test('a chain of 3,000 nested subagents, spawned from the innermost out, and a ring of them', () => {
  const n = 3000;
  const chain = Array.from({ length: n }, (_, i) =>
    spawned(`t${i}`, { conversationId: i === 0 ? 'main' : `t${i - 1}`, prompt: 'p' }),
  );
  const state = reduceConversationEvents(createConversationState(), chain.reverse());
  expect(state.subagents.length).toBe(n);
  const ring = reduceConversation(state, spawned('t0', { conversationId: `t${n - 1}`, prompt: 'p' }));
  expect(ring).toBe(state);
  let depth = 0;
  for (let node = threadTree(state).children[0]; node; node = node.children[0]) depth++;
  expect(depth).toBe(n);
});
