import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { definePrompt, type EvaluationResponse, type Prompt } from '../../src/evaluate.ts';
import {
  type ModelRequest,
  type NewEvent,
  type ScriptedTurn,
  type Store,
  type ToolContext,
  textOf,
} from '../../src/index.ts';
import type { ChildOptions } from '../../src/loop/evaluate/provider-adapter.ts';
import { type Agent, agent, call, resultText, tool } from './agent.ts';

const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.' });
const bound = definePrompt({ ns: 'test', key: 'child', instructions: 'Research {{topic}}.' });

/** The parent calls `delegate` once; every child repeats its input. */
function script({ prompt, turn, messages }: ModelRequest): ScriptedTurn {
  if (prompt.key !== 'agent') return messages.map((message) => textOf(message)).join(' ');
  return turn === 1 ? { toolCalls: [call('delegate')] } : 'The end.';
}

type Ask = (prompt: Prompt, options?: ChildOptions) => Promise<EvaluationResponse>;

/** A delegate whose first process is killed after its children were started; the second one starts those of `again`. */
async function killedAfter(
  first: (ask: Ask) => Promise<unknown>,
  strip?: (event: NewEvent) => NewEvent,
): Promise<Store> {
  let finished = false;
  const hang = tool(
    'delegate',
    async (_, context: ToolContext) => {
      await first((prompt, options) => context.evaluate(prompt, options));
      finished = true;
      return new Promise(() => {});
    },
    { effect: 'idempotent' },
  );
  const one = await agent({ script, tools: [hang] });
  if (strip) {
    const append = one.store.append.bind(one.store);
    one.store.append = (id, events, options) => append(id, events.map(strip), options);
  }
  void one.evaluate();
  while (!finished) await setImmediate();
  await one.store.releaseLease('session', (await one.store.readLease('session'))?.fence ?? 0);
  return one.store;
}

function resumed(store: Store, again: (ask: Ask) => Promise<unknown>): Promise<Agent> {
  const delegate = tool(
    'delegate',
    (_, context: ToolContext) => again((prompt, options) => context.evaluate(prompt, options)),
    { effect: 'idempotent' },
  );
  return agent({ script, tools: [delegate], store });
}

const texts = async (...responses: readonly Promise<EvaluationResponse>[]): Promise<readonly string[]> =>
  (await Promise.all(responses)).map(({ text }) => text);
const childRequests = ({ requests }: Agent): number => requests.filter(({ prompt }) => prompt.key === 'child').length;

describe('on resume a recorded child is matched by its prompt and input', () => {
  test('children that are started in another order keep their own responses', async () => {
    const store = await killedAfter((ask) => texts(ask(child, { input: 'a' }), ask(child, { input: 'b' })));
    const second = await resumed(store, (ask) => texts(ask(child, { input: 'b' }), ask(child, { input: 'a' })));
    expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research. b","Research. a"]');
    expect(childRequests(second)).toBe(0);
  });

  test('children that differ only in params keep their own responses', async () => {
    const of = (topic: string): ChildOptions => ({ params: { topic } });
    const store = await killedAfter((ask) => texts(ask(bound, of('a')), ask(bound, of('b'))));
    const second = await resumed(store, (ask) => texts(ask(bound, of('b')), ask(bound, of('a'))));
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research b.","Research a."]');
    expect(childRequests(second)).toBe(0);
  });

  test('children of different prompts keep their own responses', async () => {
    const other = definePrompt({ ns: 'test', key: 'other', instructions: 'Review.' });
    const store = await killedAfter((ask) => texts(ask(child, { input: 'x' }), ask(other, { input: 'x' })));
    const second = await resumed(store, (ask) => texts(ask(other, { input: 'x' }), ask(child, { input: 'x' })));
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Review. x","Research. x"]');
    expect(second.requests).toHaveLength(1);
  });

  test('of prompts with one name, each matches the child with its instructions', async () => {
    const about = (topic: string): Prompt =>
      definePrompt({ ns: 'test', key: 'child', instructions: `Research ${topic}.` });
    const store = await killedAfter((ask) => texts(ask(about('a')), ask(about('b'))));
    const second = await resumed(store, (ask) => texts(ask(about('b')), ask(about('a'))));
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research b.","Research a."]');
  });

  test('equal children are used once each, in order', async () => {
    const store = await killedAfter((ask) => texts(ask(child, { input: 'a' }), ask(child, { input: 'a' })));
    const thrice = (ask: Ask): Promise<unknown> =>
      texts(ask(child, { input: 'a' }), ask(child, { input: 'a' }), ask(child, { input: 'a' }));
    const second = await resumed(store, thrice);
    await second.evaluate({ resume: true });
    expect(childRequests(second)).toBe(1); // the third is new
    const names = second.session.state.record.evaluations.items.map(({ conversationId }) => conversationId).slice(1);
    expect(names.map((name) => name.slice(name.lastIndexOf('/') + 1))).toEqual(['1', '2', '3']);
  });

  test('a child with new input is a new one, with its own name', async () => {
    const store = await killedAfter((ask) => texts(ask(child, { input: 'a' }), ask(child, { input: 'b' })));
    const second = await resumed(store, (ask) =>
      texts(ask(child, { input: 'new' }), ask(child, { input: 'b' }), ask(child, { input: 'a' })),
    );
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research. new","Research. b","Research. a"]');
    expect(childRequests(second)).toBe(1);
    const names = second.session.state.record.evaluations.items.map(({ conversationId }) => conversationId);
    expect(new Set(names).size).toBe(4);
  });

  test('a key that looks like a position does not match a child without a key', async () => {
    const store = await killedAfter((ask) => texts(ask(child, { input: 'a', key: '2' })));
    const second = await resumed(store, (ask) =>
      texts(ask(child, { input: 'x', key: 'k' }), ask(child, { input: 'y' }), ask(child, { input: 'a', key: '2' })),
    );
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research. x","Research. y","Research. a"]');
  });

  test('a tool that is retried in the same process finds its children again', async () => {
    let tries = 0;
    const delegate = tool(
      'delegate',
      async (_, context: ToolContext) => {
        const inputs = ++tries === 1 ? ['a', 'b'] : ['b', 'a'];
        const said = await texts(...inputs.map((input) => context.evaluate(child, { input })));
        if (tries === 1) throw new Error('the network broke');
        return said;
      },
      { effect: 'idempotent', retries: 1 },
    );
    const one = await agent({ script, tools: [delegate] });
    await one.evaluate();
    expect(resultText(one.session, 'call_1_1')).toBe('["Research. b","Research. a"]');
    expect(childRequests(one)).toBe(2);
  });
});

describe('a key names one input', () => {
  test('with the same input it is matched in any order, with any params', async () => {
    const keyed = (key: string, topic: string): ChildOptions => ({ key, input: key, params: { topic } });
    const store = await killedAfter((ask) => texts(ask(bound, keyed('a', 'Monday')), ask(bound, keyed('b', 'Monday'))));
    const second = await resumed(store, (ask) =>
      texts(ask(bound, keyed('b', 'Tuesday')), ask(bound, keyed('a', 'Tuesday'))),
    );
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research Monday. b","Research Monday. a"]');
  });

  test('with other input on resume it is KEY_REUSED, and nothing is recorded or sent to the model', async () => {
    const store = await killedAfter((ask) => texts(ask(child, { input: 'a', key: 'k' })));
    const second = await resumed(store, (ask) => texts(ask(child, { input: 'b', key: 'k' })));
    await expect(second.evaluate({ resume: true })).rejects.toMatchObject({
      code: 'KEY_REUSED',
      message: expect.stringMatching(/"k".*other input/),
    });
    expect(resultText(second.session, 'call_1_1')).toBeUndefined();
    expect(second.requests).toEqual([]);
    const third = await resumed(store, (ask) => texts(ask(child, { input: 'a', key: 'k' })));
    expect(await third.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
  });
});

describe('logs that were written before params were recorded', () => {
  const withoutParams = (event: NewEvent): NewEvent => {
    const { paramsHash: _, ...rest } = event as NewEvent & { readonly paramsHash?: string };
    return rest as NewEvent;
  };

  test('children are matched by prompt and input in any order', async () => {
    const asks = (ask: Ask): Promise<unknown> => texts(ask(child, { input: 'a' }), ask(child, { input: 'b' }));
    const store = await killedAfter(asks, withoutParams);
    const second = await resumed(store, (ask) => texts(ask(child, { input: 'b' }), ask(child, { input: 'a' })));
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research. b","Research. a"]');
    expect(childRequests(second)).toBe(0);
  });

  test('children that differ only in params are matched by their position, as before', async () => {
    const of = (topic: string): ChildOptions => ({ params: { topic } });
    const store = await killedAfter((ask) => texts(ask(bound, of('a')), ask(bound, of('b'))), withoutParams);
    const second = await resumed(store, async (ask) => {
      const first = ask(bound, of('a'));
      return texts(first, ask(bound, of('b')));
    });
    await second.evaluate({ resume: true });
    expect(resultText(second.session, 'call_1_1')).toBe('["Research a.","Research b."]');
    expect(childRequests(second)).toBe(0);
  });
});
