import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkOutput } from '../../src/loop/request/finish.ts';
import { agent, call, said, tool } from './agent.ts';

const output = z.object({ verdict: z.enum(['good', 'bad']), score: z.number().default(1) });

describe('a response by schema', () => {
  test.for([
    ['plain', '{"verdict":"good"}'],
    ['with space around it', '\n {"verdict": "good"} \n'],
    ['in a code fence', '```json\n{"verdict":"good"}\n```'],
    ['in a fence without a name', '```\n{"verdict":"good"}\n```'],
  ])('%s is parsed by the schema', async ([, text]) => {
    const { evaluate, requests } = await agent({ script: [text ?? ''], output });
    expect(await evaluate()).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 1 }, text });
    expect(requests[0]?.output).toMatchObject({ name: 'agent', schema: { type: 'object' } });
  });

  test.for([
    ['said before it', ['This is my verdict:', '{"verdict":"good"}'], true],
    ['said after it', ['{"verdict":"good"}', 'That is my verdict.'], false],
    ['its parts are one', ['{"verdict":', '"good"}'], true],
  ] as const)('in parts, %s', async ([, texts, fits]) => {
    const content = texts.map((text) => ({ type: 'text' as const, text }));
    const checked = await checkOutput(output, { content });
    expect(checked).toMatchObject(fits ? { ok: true, value: { verdict: 'good' } } : { ok: false });
  });

  test('without a schema there is no output, and the request does not ask for JSON', async () => {
    const { evaluate, requests } = await agent({ script: ['{"verdict":"good"}'] });
    expect(await evaluate()).toMatchObject({ output: undefined, text: '{"verdict":"good"}' });
    expect(requests[0]).not.toHaveProperty('output');
  });

  test('an invalid one is sent back to the model with what was wrong', async () => {
    const { session, evaluate } = await agent({
      script: ['It is good.', '{"verdict":"fine"}', '{"verdict":"good"}'],
      output,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed', output: { verdict: 'good' }, turns: 3 });
    const lines = said(session);
    expect(lines[3]).toMatch(/^user: Your answer cannot be used: it was not JSON.*Answer again/);
    expect(lines[5]).toMatch(/^user: Your answer cannot be used: verdict: /);
  });

  test.for([
    [undefined, 3],
    [0, 1],
    [1, 2],
    [4, 5],
  ] as const)(
    'outputRetries: %s: after %i responses it fails with OUTPUT_INVALID',
    async ([outputRetries, answers]) => {
      const { session, evaluate, requests } = await agent({ script: () => 'never JSON', output });
      await expect(evaluate(outputRetries === undefined ? {} : { outputRetries })).rejects.toMatchObject({
        code: 'OUTPUT_INVALID',
        message: expect.stringMatching(/does not fit the output schema: it was not JSON/),
      });
      expect(requests).toHaveLength(answers);
      expect(session.state.record.evaluations.items.at(0)).toMatchObject({ status: 'failed', turn: answers });
    },
  );

  test('an empty response is invalid, and the request after it is coherent (I4)', async () => {
    const { evaluate, session } = await agent({ script: [{}, '{"verdict":"bad"}'], output });
    expect(await evaluate()).toMatchObject({ output: { verdict: 'bad' } });
    expect(said(session)[3]).toMatch(/it was empty/);
  });

  test('corrections are counted across resumes', async () => {
    const script = () => 'never JSON';
    const first = await agent({ script, output });
    expect(await first.evaluate({ maxTurns: 2 })).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
    const second = await agent({ script, output, store: first.store });
    await expect(second.evaluate({ resume: true })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(first.requests.length + second.requests.length).toBe(3);
  });

  test('a response with calls is not checked yet', async () => {
    const { evaluate } = await agent({
      script: [{ text: 'Let me look.', toolCalls: [call('look')] }, '{"verdict":"good"}'],
      tools: [tool('look', () => 'seen', { effect: 'read' })],
      output,
    });
    expect(await evaluate()).toMatchObject({ output: { verdict: 'good' }, turns: 2 });
  });

  test('the schema may transform and validate asynchronously', async () => {
    const slow = z.object({ n: z.number() }).transform(async ({ n }) => n * 2);
    const { evaluate } = await agent({ script: ['{"n":21}'], output: slow });
    expect(await evaluate()).toMatchObject({ output: 42 });
  });

  test("the schema's name is one that providers accept", async () => {
    const { evaluate, requests } = await agent({
      script: ['{"verdict":"good"}'],
      output,
      key: `rév.iew ${'x'.repeat(80)}`,
    });
    await evaluate();
    expect(requests[0]?.output?.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });
});
