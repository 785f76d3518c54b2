import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { createAdapter } from '../../src/loop/evaluate/create-adapter.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { answer, started, user } from '../core/log.ts';

/** A cart whose reducer wrongly changes its list instead of returning a new one. */
const pushing = () =>
  defineSlice({
    name: 'cart',
    initial: [] as string[],
    on: {
      'item/added': (items, event: { item: string }) => {
        (items as string[]).push(event.item);
        return items;
      },
    },
  });

const isDeeplyFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every((inner) => isDeeplyFrozen(inner)));

/** Changes data that it received, as a careless program does. */
function vandalise(value: unknown): void {
  // Before the attempts: what they add to data that is not frozen is theirs, and would be followed without end.
  const inside = typeof value === 'object' && value !== null ? Object.values(value) : [];
  const attempts = [
    () => (value as unknown[]).splice(0),
    () => Object.assign(value as object, { text: 'changed', content: [], arguments: 'changed', status: 'completed' }),
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch {} // expected: changing frozen data throws
  }
  for (const inner of inside) vandalise(inner);
}

describe('a reducer that changes its items in place', () => {
  test('never changes the initial items that all sessions share, and the error names the slice', async () => {
    const cart = pushing();
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const alice = await openSession({ store: memoryStore(), id: 'alice', slices: [cart], onError });
    await alice.dispatch({ type: 'item/added', item: 'secret of Alice' });
    const bob = await openSession({ store: memoryStore(), id: 'bob', slices: [cart], onError });
    expect(bob.select(cart).all()).toEqual([]);
    expect(errors).toMatchObject([{ code: 'EVENT_INVALID', message: expect.stringContaining('"cart"') }]);
  });

  test('has the same outcome live, after a restart and from a snapshot', async () => {
    const cart = defineSlice({
      name: 'cart',
      initial: [] as { name: string; count: number }[],
      on: {
        'item/added': (items, event: { item: { name: string; count: number } }) => [...items, event.item],
        'item/counted': (items) => {
          for (const item of items) (item as { count: number }).count++;
          return [...items];
        },
      },
    });
    const store = memoryStore();
    const onError = () => {};
    const live = await openSession({ store, id: 's1', slices: [cart], onError });
    await live.append([{ type: 'item/added', item: { name: 'a', count: 1 } }]);
    await live.compact();
    await live.append([{ type: 'item/counted' }]);
    const again = await openSession({ store, id: 's1', slices: [cart], onError });
    expect(live.select(cart).all()).toEqual([{ name: 'a', count: 1 }]);
    expect(again.select(cart).all()).toEqual(live.select(cart).all());
  });

  test('does not change the array that the program passed as initial, nor is changed through it', async () => {
    const initial = [{ name: 'a' }];
    const cart = defineSlice({ name: 'cart', initial, on: { 'item/added': appendAll } });
    initial.push({ name: 'b' });
    (initial[0] as { name: string }).name = 'changed';
    const session = await openSession({ store: memoryStore(), id: 's1', slices: [cart] });
    expect(session.select(cart).all()).toEqual([{ name: 'a' }]);
    expect(Object.isFrozen(initial)).toBe(false);
  });
});

describe.for([
  ['committed here', false],
  ['loaded', true],
] as const)('D69: data %s', ([, reopen]) => {
  const things = defineSlice({ name: 'things', initial: [], on: { 'thing/happened': appendAll } });
  const lists = defineSlice({
    name: 'lists',
    initial: [] as { readonly at: { readonly deep: string } }[],
    on: { 'thing/happened': (items, event: { deep: string }) => [...items, { at: { deep: event.deep } }] },
  });
  const filled = async () => {
    const store = memoryStore();
    const options = { store, id: 's1', slices: [things, lists] } as const;
    const session = await openSession(options);
    await session.append([started(), user('hi', 0), answer(1, ['a']), { type: 'thing/happened', deep: 'x' }] as never);
    return reopen ? openSession(options) : session;
  };

  test('is frozen in every view', async () => {
    const session = await filled();
    const views = {
      messages: session.messages(),
      ofEvaluation: session.messages({ evaluationId: 'e1' }),
      evaluation: session.latestEvaluation(),
      calls: session.pending(),
      things: session.select(things).all(),
      lists: session.select(lists).all(),
      snapshot: session.snapshot(),
    };
    for (const [name, view] of Object.entries(views)) expect([name, isDeeplyFrozen(view)]).toEqual([name, true]);
  });

  test('does not change, whatever a program does with a view', async () => {
    const session = await filled();
    const before = JSON.stringify(session.snapshot().slices);
    vandalise(session.messages());
    vandalise(session.messages({ evaluationId: 'e1' }));
    vandalise(session.latestEvaluation());
    vandalise(session.select(things).all());
    vandalise(session.select(lists).all());
    vandalise(session.snapshot());
    expect(JSON.stringify(session.snapshot().slices)).toBe(before);
  });
});

test('D69: a listener, an observer and a tool that change their arguments do not change the request', async () => {
  const sent: string[] = [];
  const vandal = defineTool({
    name: 'vandal',
    description: 'changes everything it can reach',
    input: z.object({ a: z.number() }),
    effect: 'read',
    execute: (input, ctx) => {
      vandalise(input);
      vandalise(ctx.session.messages());
      vandalise(ctx.session.messages({ evaluationId: ctx.evaluationId }));
      return 'done';
    },
  });
  const model = scriptedModel((request) => {
    sent.push(JSON.stringify(request.messages.map(({ role, content }) => [role, content])));
    vandalise(request.messages);
    return request.turn === 1 ? { toolCalls: [{ name: 'vandal', arguments: { a: 1 } }] } : 'bye';
  });
  const session = await openSession({ store: memoryStore(), id: 's1' });
  session.subscribe(vandalise);
  const prompt = definePrompt({ ns: 'n', key: 'k', instructions: 'Be kind.', tools: [vandal] });
  const response = await createAdapter({ model }).evaluate(prompt, { session, input: 'hello', onEvent: vandalise });
  expect(response.text).toBe('bye');
  const first = [
    ['system', [{ type: 'text', text: 'Be kind.' }]],
    ['user', [{ type: 'text', text: 'hello' }]],
  ];
  expect(sent.map((text) => JSON.parse(text))).toEqual([
    first,
    [...first, ['assistant', []], ['tool', [{ type: 'text', text: 'done' }]]],
  ]);
});
