import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentProcessState } from '../../src/agents/agent-process.ts';
import { findResumableState } from '../../src/claude-agent.ts';
import { textOf } from '../../src/core/messages.ts';
import { adapterStates } from '../../src/core/session-view.ts';
import { getMessages } from '../../src/core/views.ts';
import { checkCoherence } from '../../src/history/coherence.ts';
import { definePrompt } from '../../src/loop/define-prompt.ts';
import { defineTool } from '../../src/loop/define-tool.ts';
import { isMessageDelta } from '../../src/loop/provider-adapter.ts';
import { approveToolCall, settleToolCall } from '../../src/loop/settle.ts';
import { OPENCODE, type OpenCodeOptions, openCodeAdapter } from '../../src/opencode.ts';
import { isDead, thisProcess } from '../../src/session/process-identity.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { type AgentScript, type AgentTurn, type ModelServer, startModelServer } from './support/model-server.ts';
import { openCodeOptions } from './support/opencode.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { effectsIn, launch, until, workPrompt } from './support/work.ts';

/** The second stateful adapter, on the real OpenCode: the same contract, from the same code (D24–D29, D57). */

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Place {
  readonly server: ModelServer;
  readonly directory: string;
  readonly home: string;
  readonly cwd: string;
}

async function place(scripts: Readonly<Record<string, AgentScript>>): Promise<Place> {
  const server = await startModelServer(scripts);
  servers.push(server);
  const directory = temporaryDirectory('opencode');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
  for (const path of [home, cwd]) mkdirSync(path);
  return { server, directory, home, cwd };
}

const INPUT = '[[script:main]] go';
const latest = (session: Session, adapterType: string): Record<string, unknown> =>
  session
    .select(adapterStates)
    .where((one) => one.state.adapterType === adapterType)
    .at(-1)?.state ?? {};

const echo = defineTool({
  name: 'echo',
  description: 'Says a text again',
  input: z.object({ text: z.string() }),
  effect: 'idempotent',
  execute: ({ text }) => `echo ${text}`,
});
/** A white pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=';
const question = {
  question: 'Which?',
  header: 'Which',
  options: ['a', 'b'].map((label) => ({ label, description: label })),
};
const prompt = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo.', tools: [echo] });

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
    const heard: Record<string, string> = {};
    const response = await openCodeAdapter(openCodeOptions({ url: server.url, home, cwd })).evaluate(prompt, {
      session,
      input: INPUT,
      onEvent: (event) => {
        if (isMessageDelta(event)) heard[event.blockId] = (heard[event.blockId] ?? '') + event.delta;
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
    const messages = getMessages(session);
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'assistant',
    ]);
    expect(heard).toEqual({ [`${messages.at(2)?.id}:0`]: 'I will.', [`${messages.at(-1)?.id}:0`]: 'done' });
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
    expect(checkCoherence(getMessages(session)).violations).toEqual([]);
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
    expect(getMessages(session).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant']);
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
    for (const pending of first.pending) await approveToolCall(session, pending);
    const second = await adapter.evaluate(launching, { session, resume: true });
    expect(second.message).toBeUndefined();
    expect(second).toMatchObject({ status: 'completed', text: 'done' });
    const results = getMessages(session).flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, textOf(one)]] : []));
    expect(results).toEqual([
      ['call_0', 'hi\n'],
      ['call_1', 'launched'],
    ]);
    expect(checkCoherence(getMessages(session)).violations).toEqual([]);
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

  test('a missing program or directory is a typed error, and so is a tool with the name of a built-in one', async () => {
    const { server, home, cwd } = await place({});
    const options = openCodeOptions({ url: server.url, home, cwd });
    const evaluate = async (given: OpenCodeOptions, asked = prompt): Promise<unknown> => {
      const session = await openSession({ store: memoryStore(), id: 'one' });
      return openCodeAdapter(given).evaluate(asked, { session, input: INPUT });
    };
    await expect(evaluate({ ...options, command: 'no-such-opencode' })).rejects.toMatchObject({
      code: 'DEPENDENCY_MISSING',
      message: expect.stringContaining('no-such-opencode'),
    });
    await expect(evaluate({ ...options, cwd: join(cwd, 'gone') })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('gone'),
    });
    const read = defineTool({ name: 'read', description: 'Reads', input: z.object({}), execute: () => '' });
    const reading = definePrompt({ ns: 'test', key: 'read', instructions: 'Read.', tools: [read] });
    await expect(evaluate(options, reading)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('D28: a resume forks by default; an unknown session is a typed error, or a fresh start', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [{ name: 'holdfast_echo', arguments: { text: 'a' }, id: 'toolu_a' }] }
          : { said: 'done', hold: { name: 'answer', at: 0 } },
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const options = openCodeOptions({ url: server.url, home, cwd });
    const controller = new AbortController();
    const running = openCodeAdapter(options).evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('answer');
    controller.abort();
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const original = latest(session, OPENCODE).sessionId;
    const elsewhere = openCodeOptions({ url: server.url, home: temporaryDirectory('other'), cwd });
    await expect(openCodeAdapter(elsewhere).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
    expect(await openCodeAdapter(options).evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(latest(session, OPENCODE).sessionId).not.toBe(original);
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.refusals).toEqual([]);
  });

  test('I2, D18: after the host is killed in a once tool, the call waits for a person, runs once, and no orphan is left', async () => {
    const { server, directory, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [{ name: 'holdfast_note', arguments: { text: 'a' }, id: 'toolu_note' }] }
          : turn === 2
            ? { toolCalls: [{ name: 'holdfast_pay', arguments: { text: 'x' }, id: 'toolu_pay' }] }
            : 'done',
    });
    const db = join(directory, 'log.db');
    const store = await sqliteStore(db);
    const session = await openSession({ store, id: 'work' });
    const host = spawn(
      process.execPath,
      [
        join(import.meta.dirname, 'support', 'opencode-host.ts'),
        JSON.stringify({ db, directory, url: server.url, home, cwd, input: INPUT }),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    try {
      const exited = new Promise<void>((resolve) => host.once('exit', () => resolve()));
      await until(() => effectsIn(directory).includes('pay x'));
      host.kill('SIGKILL');
      await exited;
      await session.refresh();
      const orphan = latest(session, 'agent-process') as AgentProcessState;
      const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
      const unknown = await adapter.evaluate(workPrompt(directory), { session, resume: true });
      expect(unknown).toMatchObject({
        status: 'suspended',
        reason: 'TOOL_OUTCOME_UNKNOWN',
        pending: [{ callId: 'toolu_pay' }],
      });
      const { pid, startedAt } = orphan;
      expect(isDead({ ...thisProcess(), pid, startedAt })).toBe(true);
      for (const call of unknown.pending) await settleToolCall(session, call, { result: 'a person looked: paid' });
      expect(await adapter.evaluate(workPrompt(directory), { session, resume: true })).toMatchObject({
        status: 'completed',
        text: 'done',
      });
      expect(effectsIn(directory)).toEqual(['note a', 'pay x']);
      const last = server.requests.at(-1);
      expect(last?.results.get('toolu_note')).toEqual({ text: 'noted a', isError: false });
      expect(JSON.stringify(last?.body)).toContain('a person looked: paid');
      expect(server.refusals).toEqual([]);
    } finally {
      host.kill('SIGKILL');
      await store.close();
    }
  });
});
