import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt, fileCheckpoints, MainLoop } from '../../src/evaluate.ts';
import { slidingWindow, tokenBudget } from '../../src/history.ts';
import { aiSdkModel, defineTool, memoryStore, openSession, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { v4 } from '../models/language-models.ts';
import { agent, call, resultText, tool } from './agent.ts';

const model = scriptedModel(['hi']);
const adapter = createAdapter({ model });
const prompt = definePrompt({ ns: 'a', key: 'b', instructions: 'c' });
const input = z.object({});
const base = { name: 'a', description: 'b', input, execute: () => '' };

/** Options as JavaScript passes them, without type checks. */
const any = (options: object): never => options as never;

test.for<[string, string | undefined, () => unknown]>([
  ['evaluate', 'maxTurns', () => adapter.evaluate(prompt, any({ maxTurn: 3 }))],
  ['evaluate', 'history', () => adapter.evaluate(prompt, any({ history_manager: slidingWindow({ size: 1 }) }))],
  ['evaluate', 'resume', () => adapter.evaluate(prompt, any({ resumes: true }))],
  ['evaluate', undefined, () => adapter.evaluate(prompt, any({ onInvalid: 'restart' }))],
  ['stream', 'signal', () => adapter.stream(prompt, any({ signals: 1 })).response],
  ['budget', 'maxTokens', () => adapter.evaluate(prompt, { budget: any({ maxToken: 3 }) })],
  ['limits', 'maxTokens', () => adapter.evaluate(prompt, { limits: any({ max_tokens: 3 }) })],
  ['openSession', 'maxInlineLength', () => openSession(any({ store: memoryStore(), id: 's', maxInlineLenght: 1 }))],
  ['openSession', 'readOnly', () => openSession(any({ store: memoryStore(), id: 's', readonly: true }))],
  ['definePrompt', 'instructions', () => definePrompt(any({ ns: 'a', key: 'b', instructions: '', instruction: 'c' }))],
  ['defineTool', 'needsApproval', () => defineTool(any({ ...base, needApproval: true }))],
  ['defineTool', 'effect', () => defineTool(any({ ...base, effects: 'read' }))],
  ['createAdapter', 'maxModelRetries', () => createAdapter(any({ model, maxRetries: 2 }))],
  ['MainLoop', 'checkpoints', () => new MainLoop(any({ adapter, checkpoint: {} }))],
  ['fileCheckpoints', 'name', () => fileCheckpoints('.', any({ names: () => 'x' }))],
  ['memoryStore', 'clock', () => memoryStore(any({ clocks: 1 }))],
  ['sqliteStore', 'busyTimeoutMs', () => sqliteStore('/nowhere/at-all.db', any({ busyTimeout: 1 }))],
  ['slidingWindow', 'size', () => slidingWindow(any({ size: 1, sizes: 2 }))],
  ['tokenBudget', 'max', () => tokenBudget(any({ maxi: 2 }))],
  ['aiSdkModel', 'temperature', () => aiSdkModel(v4([]), any({ temprature: 1 }))],
])('%s rejects an unknown option and suggests %s (I10)', async ([what, suggestion, run]) => {
  const attempt = new Promise((resolve) => resolve(run()));
  const advice = suggestion ? `did you mean "${suggestion}"\\?` : 'there are: .*input';
  const owner = what === 'stream' ? 'evaluate' : what;
  await expect(attempt).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(`^${owner} has no option "\\w+"; ${advice}`),
  });
});

test('an undefined option is ignored', async () => {
  expect(await adapter.evaluate(prompt, any({ input: 'x', nothing: undefined }))).toMatchObject({ text: 'hi' });
});

test('a child conversation does not accept options that it inherits', async () => {
  const ask = tool(
    'ask',
    async (_, context) => {
      const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Say hi.' });
      return (await context.evaluate(child, any({ deadline: 1 }))).text;
    },
    { effect: 'idempotent' },
  );
  const { session, evaluate } = await agent({ script: [{ toolCalls: [call('ask')] }, 'ok'], tools: [ask] });
  await evaluate();
  expect(resultText(session, 'call_1_1')).toMatch(/ctx\.evaluate has no option "deadline"/);
});
