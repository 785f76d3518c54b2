import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { type AnyTool, defineSubagent, defineTool, type ModelRequest, type ScriptedTurn } from '../../src/index.ts';
import { agent, call, resultText, said, tool } from './agent.ts';

const input = z.object({});
const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.' });

describe('D60: an undeclared effect is once', () => {
  test.for<readonly [string, AnyTool['execute']]>([
    [
      'calls page.evaluate()',
      (_, context) => (context as unknown as { evaluate(code: string): unknown }).evaluate('1'),
    ],
    ['mentions evaluate( in a comment', () => /* evaluate(the order) */ 'bought'],
    ['mentions evaluate( in a text', () => 'evaluate( 1 + 1 )'],
    ['runs a child conversation', (_, context) => context.evaluate(child)],
    ['returns a word', () => 'evaluation'],
  ])('for any source code of the handler: one that %s', ([, execute]) => {
    expect(defineTool({ name: 'x', description: '', input, execute }).effect).toBe('once');
  });

  test('a purchase whose handler calls page.evaluate() does not run twice after a crash', async () => {
    let bought = 0;
    const page = { evaluate: (_code: string) => ++bought };
    const buy = (hang: boolean): AnyTool =>
      defineTool({
        name: 'buy',
        description: 'Buys',
        input,
        execute: () => {
          page.evaluate('document.forms[0].submit()');
          return hang ? new Promise(() => {}) : 'bought';
        },
      });
    const script = [{ toolCalls: [call('buy')] }, 'ok'];
    const first = await agent({ script, tools: [buy(true)] });
    void first.evaluate();
    while (bought === 0) await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({ script, tools: [buy(false)], store: first.store });
    expect(await second.evaluate({ resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(bought).toBe(1);
  });

  test('ctx.evaluate throws in a tool without a declared effect and names the option to declare', async () => {
    const delegate = defineTool({
      name: 'delegate',
      description: 'Delegates',
      input,
      execute: async (_, context) => (await context.evaluate(child)).text,
    });
    const { session, evaluate, requests, results } = await agent({
      script: ({ turn }) => (turn === 1 ? { toolCalls: [call('delegate')] } : 'ok'),
      tools: { delegate },
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(results().call_1_1?.isError).toBe(true);
    expect(resultText(session, 'call_1_1')).toMatch(/"delegate".*effect: 'idempotent'.*defineSubagent/);
    expect(requests.some(({ prompt }) => prompt.key === 'child')).toBe(false);
  });

  test.for(['read', 'idempotent', 'once'] as const)(
    'ctx.evaluate runs in a tool whose effect is declared as %s',
    async (effect) => {
      const delegate = tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect });
      const { session, evaluate } = await agent({
        script: ({ prompt, turn }) =>
          prompt.key === 'child' ? 'found' : turn === 1 ? { toolCalls: [call('delegate')] } : 'ok',
        tools: [delegate],
      });
      await evaluate();
      expect(resultText(session, 'call_1_1')).toBe('found');
    },
  );
});

describe('defineSubagent', () => {
  /** A script that calls the subagent once with these arguments; the child repeats its input. */
  const script =
    (args: unknown) =>
    ({ prompt, turn, messages }: ModelRequest): ScriptedTurn => {
      if (prompt.key === 'child') return JSON.stringify(messages.map(({ role, content }) => [role, content]));
      return turn === 1 ? { toolCalls: [call('research', args)] } : 'ok';
    };

  test("creates an idempotent tool that passes the model's text to the child and returns its response", async () => {
    const research = defineSubagent({ name: 'research', description: 'Researches', prompt: child });
    expect(research).toMatchObject({ name: 'research', description: 'Researches', effect: 'idempotent' });
    expect(research.jsonSchema).toMatchObject({ type: 'object', required: ['input'] });
    const { session, evaluate } = await agent({ script: script({ input: 'Where do birds go?' }), tools: [research] });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
    const own = session.state.record.evaluations.items.at(1);
    expect(said(session, own?.id).slice(0, 2)).toEqual(['system: Research.', 'user: Where do birds go?']);
    expect(resultText(session, 'call_1_1')).toBe(said(session, own?.id)[2]?.slice('assistant: '.length));
  });

  test('binds the fields that the instructions name; the others become the message', async () => {
    const prompt = definePrompt({ ns: 'test', key: 'child', instructions: 'Research {{topic}}.' });
    const research = defineSubagent({
      name: 'research',
      description: 'Researches',
      prompt,
      input: z.object({ topic: z.string(), depth: z.number(), tone: z.string() }),
    });
    const { session, evaluate } = await agent({
      script: script({ topic: 'birds', depth: 2, tone: 'dry' }),
      tools: [research],
    });
    await evaluate();
    expect(said(session, session.state.record.evaluations.items.at(1)?.id).slice(0, 2)).toEqual([
      'system: Research birds.',
      'user: {"depth":2,"tone":"dry"}',
    ]);
  });

  test('returns the output of a prompt that has an output schema', async () => {
    const prompt = definePrompt({
      ns: 'test',
      key: 'child',
      instructions: 'Count.',
      output: z.object({ n: z.number() }),
    });
    const count = defineSubagent({ name: 'research', description: 'Counts', prompt });
    const { session, evaluate } = await agent({
      script: ({ prompt: { key }, turn }) =>
        key === 'child' ? '{"n":3}' : turn === 1 ? { toolCalls: [call('research', { input: 'x' })] } : 'ok',
      tools: [count],
    });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toBe('{"n":3}');
  });

  test('arguments that do not fit its own schema are a failed result', async () => {
    const strict = z.object({ topic: z.string() });
    const research = defineSubagent({ name: 'research', description: '', prompt: child, input: strict });
    const { session, evaluate, requests } = await agent({ script: script({}), tools: [research] });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toMatch(/do not fit its schema/);
    expect(requests.some(({ prompt }) => prompt.key === 'child')).toBe(false);
  });

  test("after a crash in the child the child resumes; the parent's call has no unknown outcome", async () => {
    const hang = tool('look', () => new Promise(() => {}), { effect: 'read' });
    const look = tool('look', () => 'seen', { effect: 'read' });
    const tools = (own: AnyTool): readonly AnyTool[] => [
      defineSubagent({
        name: 'research',
        description: 'Researches',
        prompt: definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [own] }),
      }),
    ];
    const answers = ({ prompt, turn }: ModelRequest): ScriptedTurn =>
      prompt.key === 'child'
        ? turn === 1
          ? { toolCalls: [call('look')] }
          : 'found'
        : turn === 1
          ? { toolCalls: [call('research', { input: 'x' })] }
          : 'ok';
    const first = await agent({ script: answers, tools: tools(hang) });
    void first.evaluate();
    while (first.requests.length < 2 || first.session.state.record.messages.length < 6) await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({ script: answers, tools: tools(look), store: first.store });
    expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(second.requests.map(({ prompt: { key }, turn }) => `${key} ${turn}`)).toEqual(['child 2', 'agent 2']);
  });
});
