/** The second stateful adapter, on the real OpenCode: the same contract, from the same code (D24–D29, D57). */
import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/log/messages.ts';
import { findResumableState } from '../../src/evaluate.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { isMessageDelta } from '../../src/loop/evaluate/provider-adapter.ts';
import { OPENCODE, openCodeAdapter } from '../../src/opencode.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { AgentScript, AgentTurn } from './support/model-server.ts';
import { openCodeOptions } from './support/opencode.ts';
import { INPUT, place, prompt, servers } from './support/opencode-place.ts';
import { launch } from './support/work.ts';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A white pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=';

const question = {
  question: 'Which?',
  header: 'Which',
  options: ['a', 'b'].map((label) => ({ label, description: label })),
};

describe('OpenCode', () => {
  test('D7, D57: messages, starts and results are recorded, the state is captured, and the conversation is coherent', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? {
              text: 'I will.',
              toolCalls: [
                { name: 'holdfast_echo', arguments: { text: 'a' }, id: 'toolu_a' },
                { name: 'holdfast_echo', arguments: { text: 'b' }, id: 'toolu_b' },
                { name: 'bash', arguments: { command: 'echo hi', description: 'x' }, id: 'toolu_bash' },
              ],
            }
          : 'done',
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const streamed: Record<string, string> = {};
    const response = await openCodeAdapter(openCodeOptions({ url: server.url, home, cwd })).evaluate(prompt, {
      session,
      input: INPUT,
      onEvent: (event) => {
        if (isMessageDelta(event)) streamed[event.blockId] = (streamed[event.blockId] ?? '') + event.delta;
      },
    });
    expect(response.message).toBeUndefined(); // or why it was suspended
    expect(response).toMatchObject({
      status: 'completed',
      text: 'done',
      turns: 2,
      usage: { inputTokens: 203, outputTokens: 20 },
      adapterState: { adapterType: OPENCODE, complete: true, workspacePath: cwd },
    });
    const messages = session.messages();
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'assistant',
    ]);
    expect(streamed).toEqual({ [`${messages.at(2)?.id}:0`]: 'I will.', [`${messages.at(-1)?.id}:0`]: 'done' });
    expect(checkCoherence(messages).violations).toEqual([]);
    const starts: unknown[] = [];
    for await (const event of session.events({ types: ['tool/started'] }))
      starts.push('toolName' in event && event.toolName);
    expect(starts.toSorted()).toEqual(['bash', 'echo', 'echo']);
    expect(findResumableState(session, OPENCODE)).toBeUndefined();
    expect(server.refusals).toEqual([]);
  });

  test('a permission that would wait for a person is rejected, and the model continues', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [
                { name: 'bash', arguments: { command: 'touch forbidden', description: 'x' }, id: 'toolu_bash' },
                { name: 'question', arguments: { questions: [question, question] }, id: 'toolu_question' },
              ],
            }
          : 'done',
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const options = openCodeOptions({ url: server.url, home, cwd });
    const careful = { ...options, config: { ...options.config, permission: { bash: 'ask' } } };
    const response = await openCodeAdapter(careful).evaluate(prompt, { session, input: INPUT });
    expect(response.message).toBeUndefined();
    expect(response).toMatchObject({ status: 'completed', text: 'done', turns: 2 });
    const results = server.requests.at(-1)?.results;
    expect(results?.get('toolu_bash')).toEqual({ isError: true, text: expect.stringContaining('nobody can be asked') });
    expect(results?.get('toolu_question')?.text).toContain('Decide by yourself');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('D23: turns and tokens are limited between two requests; a higher limit continues', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn < 3
          ? { toolCalls: [{ name: 'holdfast_echo', arguments: { text: `${turn}` }, id: `toolu_${turn}` }] }
          : 'done',
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
    expect(await adapter.evaluate(prompt, { session, input: INPUT, maxTurns: 1 })).toMatchObject({
      status: 'suspended',
      reason: 'TURN_LIMIT',
      turns: 1,
    });
    expect(server.requests.map(({ turn }) => turn)).toEqual([1]);
    expect(await adapter.evaluate(prompt, { session, resume: true, budget: { maxTokens: 200 } })).toMatchObject({
      status: 'suspended',
      reason: 'BUDGET_EXCEEDED',
      turns: 2,
    });
    expect(server.requests).toHaveLength(2);
    expect(await adapter.evaluate(prompt, { session, resume: true })).toMatchObject({ status: 'completed' });
    const results = server.requests.at(-1)?.results;
    expect([results?.get('toolu_1'), results?.get('toolu_2')]).toEqual(
      ['echo 1', 'echo 2'].map((text) => ({ text, isError: false })),
    );
    expect(checkCoherence(session.messages()).violations).toEqual([]);
    expect(server.refusals).toEqual([]);
  });

  test("D23, D52: a subagent's usage counts for its parent, and is limited before each of its requests", async () => {
    const bash = (turn: number): object => ({
      name: 'bash',
      arguments: { command: 'echo hi', description: 'x' },
      id: `toolu_bash_${turn}`,
    });
    const task = {
      name: 'task',
      arguments: { description: 'sub', prompt: '[[script:sub]] go', subagent_type: 'general' },
      id: 'toolu_task',
    };
    const { server, home, cwd } = await place({
      main: () => ({ toolCalls: [task] }) as AgentTurn,
      sub: ({ turn }) => ({ toolCalls: [bash(turn)] }) as AgentTurn,
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
    expect(await adapter.evaluate(prompt, { session, input: INPUT, budget: { maxTokens: 200 } })).toMatchObject({
      status: 'suspended',
      reason: 'BUDGET_EXCEEDED',
    });
    // A request costs about a hundred; the parent's is charged when its response ends, which waits for the subagent.
    expect(server.requests.map(({ script, turn }) => `${script} ${turn}`)).toEqual(['main 1', 'sub 1', 'sub 2']);
  });

  test('a structured response is validated and typed, an invalid one goes back to the model; images are sent along', async () => {
    const { server, home, cwd } = await place({
      main: ({ body }) => (JSON.stringify(body).includes('too small') ? '{"size":7}' : '{"size":-1}'),
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const sized = definePrompt({
      ns: 'test',
      key: 'sized',
      instructions: 'Measure.',
      output: z.object({ size: z.number().refine((size) => size > 0, 'too small') }),
    });
    const response = await openCodeAdapter(openCodeOptions({ url: server.url, home, cwd })).evaluate(sized, {
      session,
      input: [
        { type: 'text', text: INPUT },
        { type: 'image', mediaType: 'image/png', data: PIXEL },
      ],
    });
    expect(response.message).toBeUndefined();
    expect(response).toMatchObject({ status: 'completed', output: { size: 7 }, turns: 2 });
    const [first = '', second] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain(PIXEL);
    expect(first).toContain('JSON Schema');
    expect(second).toContain('too small');
    expect(session.messages().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant']);
    expect(server.refusals).toEqual([]);
  });

  test('D13, D18: a call that needs approval waits for running siblings', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [
                { name: 'bash', arguments: { command: 'sleep 1; echo hi', description: 'x' }, id: 'call_0' },
                { name: 'holdfast_launch', arguments: {}, id: 'call_1' },
              ],
            }
          : 'done',
    });
    const launching = definePrompt({ ns: 'test', key: 'launching', instructions: 'Launch.', tools: [launch] });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
    const first = await adapter.evaluate(launching, { session, input: INPUT });
    expect(first).toMatchObject({ reason: 'APPROVAL_REQUIRED', pending: [{ callId: 'call_1' }] });
    for (const pending of first.pending) await session.approve(pending);
    const second = await adapter.evaluate(launching, { session, resume: true });
    expect(second.message).toBeUndefined();
    expect(second).toMatchObject({ status: 'completed', text: 'done' });
    const results = session.messages().flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, textOf(one)]] : []));
    expect(results).toEqual([
      ['call_0', 'hi\n'],
      ['call_1', 'launched'],
    ]);
    expect(checkCoherence(session.messages()).violations).toEqual([]);
  });

  test('D41, D52: a subagent that is started again, by another call or a later evaluation, is another child', async () => {
    let child = '';
    const bash = (id: string): object => ({ name: 'bash', id, arguments: { command: 'echo hi', description: 'x' } });
    const task = (id: string, script: string, more: object = {}): object => ({
      name: 'task',
      id,
      arguments: { description: 'sub', prompt: `[[script:${script}]] go`, subagent_type: 'general', ...more },
    });
    const calls = (...toolCalls: object[]): AgentTurn => ({ toolCalls }) as AgentTurn;
    const sub =
      (id: string): AgentScript =>
      ({ turn }) =>
        turn === 1 ? calls(bash(id)) : 'sub done';
    const { server, home, cwd } = await place({
      main: ({ turn, results }) => {
        child = /ses_\w+/.exec(results.get('toolu_t1')?.text ?? '')?.[0] ?? child;
        if (turn === 1) return calls(task('toolu_t1', 'one'));
        return turn === 2 ? calls(task('toolu_t2', 'two', { task_id: child })) : 'done';
      },
      again: ({ turn }) => (turn === 1 ? calls(task('toolu_t3', 'three', { task_id: child })) : 'done again'),
      one: sub('toolu_b1'),
      two: sub('toolu_b2'),
      three: sub('toolu_b3'),
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
    expect(await adapter.evaluate(prompt, { session, input: INPUT })).toMatchObject({ text: 'done' });
    expect(await adapter.evaluate(prompt, { session, input: '[[script:again]] go', continues: true })).toMatchObject({
      text: 'done again',
    });
    const evaluations = session.state.record.evaluations.items.toArray();
    expect(evaluations.map(({ status, parent }) => [status, parent?.callId])).toEqual([
      ['completed', undefined],
      ['completed', 'toolu_t1'],
      ['completed', 'toolu_t2'],
      ['completed', undefined],
      ['completed', 'toolu_t3'],
    ]);
    const made = evaluations.flatMap(({ messages }) => [...messages]).filter(({ role }) => role === 'tool');
    expect(made).toHaveLength(6);
  });
});
