/** The adapter against the real SDK and a local model: its contract, its state (D24–D29) and its parity (D47). */
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentProcessState } from '../../src/agents/agent-process.ts';
import type { ClaudeAgentSdk } from '../../src/agents/claude-agent/sdk-types.ts';
import type { ClaudeSessionStore } from '../../src/claude-agent.ts';
import { adapterStates } from '../../src/core/views/session-view.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { isMessageDelta } from '../../src/loop/evaluate/provider-adapter.ts';
import { isDead, thisProcess } from '../../src/session/process-identity.ts';
import { call, echo, echoCall, INPUT, prompt, ran, servers, stateIn, twoTurns, world } from './support/claude-world.ts';
import { launch } from './support/work.ts';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

describe('an evaluation', () => {
  test('D7, D57: messages, starts and results are recorded as they come, and the conversation is coherent', async () => {
    const { server, session, adapter } = await world({
      main: ({ turn }) =>
        turn === 1
          ? {
              reasoning: 'hm',
              text: 'I will.',
              toolCalls: [
                echoCall('a'),
                call('Bash', { command: 'echo hi', description: 'x' }, 'toolu_bash'),
                echoCall('b'),
              ],
            }
          : 'done',
    });
    const deltas: string[] = [];
    const response = await adapter().evaluate(prompt, {
      session,
      input: INPUT,
      onEvent: (event) => {
        if (isMessageDelta(event) && event.kind === 'text') deltas.push(event.delta);
      },
    });
    expect(response).toMatchObject({
      status: 'completed',
      text: 'done',
      turns: 2,
      usage: { inputTokens: 203, outputTokens: 20 },
    });
    const messages = session.messages();
    expect(messages.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'assistant',
    ]);
    expect(messages.at(2)).toMatchObject({
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'I will.' },
      ],
      toolCalls: [{ name: 'echo' }, { name: 'Bash' }, { name: 'echo' }],
    });
    expect(checkCoherence(messages).violations).toEqual([]);
    const types: string[] = [];
    for await (const event of session.events())
      types.push('effect' in event ? `${event.type} ${event.toolName} ${event.effect}` : event.type);
    expect(types.filter((type) => type.startsWith('tool/'))).toEqual([
      'tool/started echo idempotent',
      'tool/started Bash once',
      'tool/started echo idempotent',
    ]);
    expect(deltas.join('')).toBe('I will.done');
    expect(server.refusals).toEqual([]);
  });

  test('a structured response is validated and typed, and an invalid one goes back to the model', async () => {
    const { session, adapter } = await world({
      main: ({ turn }) => ({
        text: 'This is what I measured:',
        toolCalls: [call('StructuredOutput', { size: turn === 1 ? 'big' : 7 }, `toolu_${turn}`)],
      }),
    });
    const sized = definePrompt({
      ns: 'test',
      key: 'sized',
      instructions: 'Measure.',
      output: z.object({ size: z.number() }),
    });
    const response = await adapter().evaluate(sized, { session, input: INPUT });
    expect(response).toMatchObject({ status: 'completed', output: { size: 7 } });
    // D14: a completed evaluation returns its recorded response, without the model.
    expect(await adapter().evaluate(sized, { session, input: INPUT, resume: true })).toMatchObject({
      output: { size: 7 },
    });
  });

  test('D52: a tool may run a child conversation with the same agent', async () => {
    const { session, adapter } = await world({
      main: ({ turn }) => (turn === 1 ? { toolCalls: [call('mcp__holdfast__ask', {}, 'toolu_ask')] } : 'done'),
      child: () => 'from the child',
    });
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'You are a child.' });
    const ask = defineTool({
      name: 'ask',
      description: 'Asks a child',
      input: z.object({}),
      effect: 'idempotent',
      execute: async (_, ctx) => (await ctx.evaluate(child, { input: '[[script:child]] hello' })).text,
    });
    const asking = definePrompt({ ns: 'test', key: 'asking', instructions: 'Ask.', tools: [ask] });
    expect(await adapter().evaluate(asking, { session, input: INPUT })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(session.messages().find((message) => message.role === 'tool')).toMatchObject({
      content: [{ text: 'from the child' }],
    });
  });

  test('D13: a call that needs approval suspends; when it is approved, the resume runs it and the model receives its result', async () => {
    const { server, session, adapter } = await world({
      main: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [
                echoCall('before'),
                call('Bash', { command: 'echo hi', description: 'x' }, 'toolu_bash'),
                call('mcp__holdfast__launch', {}, 'toolu_launch'),
                echoCall('after'),
              ],
            }
          : 'done',
    });
    const launching = definePrompt({ ns: 'test', key: 'launching', instructions: 'Launch.', tools: [echo, launch] });
    const first = await adapter().evaluate(launching, { session, input: INPUT });
    expect(first).toMatchObject({
      status: 'suspended',
      reason: 'APPROVAL_REQUIRED',
      pending: [{ callId: 'toolu_launch' }],
    });
    expect(ran).toEqual(['before', 'after']); // every sibling runs first (D18)
    for (const pending of first.pending) await session.approve(pending);
    expect(await adapter().evaluate(launching, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(ran).toEqual(['before', 'after']);
    expect(server.requests.at(-1)?.results.get('toolu_launch')).toEqual({ text: 'launched', isError: false });
    expect(server.refusals).toEqual([]);
  });

  test('D57: a response without a stream, because the stream failed, is recorded before its calls run', async () => {
    const { session, adapter } = await world({
      main: ({ turn }) => ({
        said: turn === 1 ? { text: 'I will.', toolCalls: [echoCall('a')] } : 'done',
        streams: false,
      }),
    });
    expect(await adapter().evaluate(prompt, { session, input: INPUT })).toMatchObject({
      status: 'completed',
      text: 'done',
      turns: 2,
      usage: { inputTokens: 203, outputTokens: 20 },
    });
    expect(session.messages().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
  });

  test('D52: a subagent that was not started in the background does not run there, and ends before its parent continues', async () => {
    const { session, adapter } = await world({
      main: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [
                call(
                  'Agent',
                  { description: 'sub', prompt: '[[script:sub]] go', subagent_type: 'general-purpose' },
                  'toolu_agent',
                ),
              ],
            }
          : 'done',
      sub: ({ turn }) => (turn === 1 ? { text: 'working', toolCalls: [echoCall('sub')] } : 'sub done'),
    });
    expect(await adapter().evaluate(prompt, { session, input: INPUT })).toMatchObject({ text: 'done', turns: 2 });
    const evaluations = session.state.record.evaluations.items.toArray();
    expect(evaluations.map(({ status, parent }) => [status, parent?.callId])).toEqual([
      ['completed', undefined],
      ['completed', 'toolu_agent'],
    ]);
    expect(ran).toEqual(['sub']);
  });

  test('D23: a cost limit applies to one evaluation, whatever its session has cost before; reaching it suspends', async () => {
    const { session, adapter, server } = await world({ main: twoTurns });
    const first = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const spent = stateIn(session).costUsd ?? 0;
    expect(first).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
    expect(spent).toBeGreaterThan(0);
    const asked = server.requests.length;
    const used = await adapter().evaluate(prompt, { session, resume: true, budget: { maxCostUsd: spent } });
    expect(used).toMatchObject({ status: 'suspended', reason: 'BUDGET_EXCEEDED' });
    expect(server.requests).toHaveLength(asked);
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({ status: 'completed' });
    const whole = stateIn(session).costUsd ?? 0;
    expect(whole).toBeGreaterThan(spent);
    const next = { session, input: INPUT, continues: true, budget: { maxCostUsd: whole * 1.5 } } as const;
    expect(await adapter().evaluate(prompt, next)).toMatchObject({ status: 'completed' });
    expect(stateIn(session)).toMatchObject({ startCostUsd: whole });
  });

  test('a run that is cancelled before the agent was started does not start it', async () => {
    const { session, adapter, server } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const asked = server.requests.length;
    const controller = new AbortController();
    let started = 0;
    const impatient: ClaudeAgentSdk = {
      ...(sdk as unknown as ClaudeAgentSdk),
      query: ({ prompt: said, options }) => {
        const { sessionStore, spawnClaudeCodeProcess: spawn } = options as unknown as {
          readonly sessionStore: ClaudeSessionStore;
          readonly spawnClaudeCodeProcess: (options: unknown) => unknown;
        };
        const load: ClaudeSessionStore['load'] = async (key) => {
          controller.abort();
          return sessionStore.load(key);
        };
        return (sdk as unknown as ClaudeAgentSdk).query({
          prompt: said,
          options: {
            ...options,
            sessionStore: { ...sessionStore, load },
            spawnClaudeCodeProcess: (how: unknown) => {
              const child = spawn(how);
              started++;
              return child;
            },
          },
        });
      },
    };
    const running = adapter({ sdk: impatient }).evaluate(prompt, { session, resume: true, signal: controller.signal });
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(started).toBe(0);
    expect(server.requests).toHaveLength(asked);
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({ status: 'completed' });
  });

  test('D23: turns, tokens and costs add up over resumes; each limit suspends and a higher one continues', async () => {
    const { session, adapter } = await world({ main: twoTurns });
    expect(await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 })).toMatchObject({
      status: 'suspended',
      reason: 'TURN_LIMIT',
    });
    expect(await adapter().evaluate(prompt, { session, resume: true, maxTurns: 1 })).toMatchObject({
      status: 'suspended',
      reason: 'TURN_LIMIT',
    });
    expect(await adapter().evaluate(prompt, { session, resume: true, budget: { maxTokens: 50 } })).toMatchObject({
      status: 'suspended',
      reason: 'BUDGET_EXCEEDED',
    });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
    expect(ran).toEqual(['a', 'b']);
  });

  test('a budget of tokens stops between two requests', async () => {
    const { server, session, adapter } = await world({ main: twoTurns });
    const response = await adapter().evaluate(prompt, { session, input: INPUT, budget: { maxTokens: 50 } });
    expect(response).toMatchObject({ status: 'suspended', reason: 'BUDGET_EXCEEDED', turns: 1 });
    expect(server.requests).toHaveLength(1);
    expect(session.messages().filter((message) => message.role === 'tool')).toHaveLength(2);
  });

  test('D13: a cancellation and a deadline suspend, leave no process, and can be resumed', async () => {
    const { server, session, adapter } = await world({
      main: ({ turn }) =>
        turn === 1 ? { toolCalls: [echoCall('a')] } : { said: 'done', hold: { name: 'answer', at: 2 } },
    });
    const controller = new AbortController();
    const running = adapter().evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('answer');
    controller.abort();
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const agent = session
      .select(adapterStates)
      .where((one) => one.state.adapterType === 'agent-process')
      .at(-1)?.state as AgentProcessState;
    expect(isDead({ ...thisProcess(), ...agent, id: agent.mark })).toBe(true);
    expect(await adapter().evaluate(prompt, { session, resume: true, deadline: 0 })).toMatchObject({
      status: 'suspended',
      reason: 'DEADLINE_EXCEEDED',
    });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(ran).toEqual(['a']);
  });

  test('D13: an API that fails suspends, and a resume retries', async () => {
    let broken = true;
    const { session, adapter } = await world({ main: () => (broken ? { error: { status: 400 } } : 'done') });
    expect(await adapter().evaluate(prompt, { session, input: INPUT })).toMatchObject({
      status: 'suspended',
      reason: 'PROVIDER_FAILED',
    });
    broken = false;
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(session.messages().filter((message) => message.role === 'assistant')).toHaveLength(1);
  });

  test('D57: `history` is a typed error, and so is a tool with the name of a built-in one', async () => {
    const { session, adapter } = await world({});
    await expect(adapter().evaluate(prompt, { session, input: INPUT, history: passthrough() })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    const bash = defineTool({ name: 'Bash', description: '', input: z.object({}), execute: () => '' });
    const clash = definePrompt({ ns: 'test', key: 'clash', instructions: '', tools: [bash] });
    await expect(adapter().evaluate(clash, { session })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(session.seq).toBe(0);
  });

  test('D3: an SDK without a session store is a missing dependency', async () => {
    const { session, adapter } = await world({});
    const old = adapter({ sdk: { query: () => ({ async *[Symbol.asyncIterator]() {} }) } });
    await expect(old.evaluate(prompt, { session, input: INPUT })).rejects.toMatchObject({ code: 'DEPENDENCY_MISSING' });
  });
});
