import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { latestSnapshot } from '../../src/agents/adapter-states.ts';
import type { AgentProcessState } from '../../src/agents/agent-process.ts';
import {
  CLAUDE_AGENT,
  type ClaudeAgentOptions,
  type ClaudeAgentSdk,
  type ClaudeAgentState,
  type ClaudeMessage,
  type ClaudeSessionStore,
  claudeAgentAdapter,
  claudeSessionStore,
  diffAdapterStates,
  findResumableState,
  readClaudeSession,
  recoverSession,
  type StatefulAdapter,
} from '../../src/claude-agent.ts';
import { adapterStates } from '../../src/core/session-view.ts';
import { getMessages } from '../../src/core/views.ts';
import { checkCoherence } from '../../src/history/coherence.ts';
import { passthrough } from '../../src/history/passthrough.ts';
import { definePrompt } from '../../src/loop/define-prompt.ts';
import { defineTool } from '../../src/loop/define-tool.ts';
import { isMessageDelta } from '../../src/loop/provider-adapter.ts';
import { approveToolCall, settleToolCall } from '../../src/loop/settle.ts';
import type { Store } from '../../src/ports/store.ts';
import { isDead, thisProcess } from '../../src/session/process-identity.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { type Line, linesOf, plain, stateOf, textOfLines } from '../transcripts/fixtures.ts';
import { comparable, EXEMPTIONS, withoutExemptLines } from '../transcripts/parity-exemptions.ts';
import { claudeOptions } from './support/claude.ts';
import { type AgentScript, type ModelServer, startModelServer } from './support/model-server.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { launch } from './support/work.ts';

/** The adapter against the real SDK and a local model: its contract, its state (D24–D29) and its parity (D47). */

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const call = (name: string, input: unknown, id: string): { name: string; arguments: unknown; id: string } => ({
  name,
  arguments: input,
  id,
});
const echoCall = (text: string): ReturnType<typeof call> => call('mcp__holdfast__echo', { text }, `toolu_${text}`);

const ran: string[] = [];
const echo = defineTool({
  name: 'echo',
  description: 'Says a text again',
  input: z.object({ text: z.string() }),
  effect: 'idempotent',
  execute: ({ text }) => {
    ran.push(text);
    return `echo ${text}`;
  },
});
const prompt = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo.', tools: [echo] });

interface World {
  readonly server: ModelServer;
  readonly store: Store;
  readonly session: Session;
  readonly home: string;
  readonly cwd: string;
  adapter(options?: ClaudeAgentOptions): StatefulAdapter;
}

async function world(scripts: Readonly<Record<string, AgentScript>>): Promise<World> {
  ran.length = 0;
  const server = await startModelServer(scripts);
  servers.push(server);
  const directory = temporaryDirectory('agent');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
  for (const path of [home, cwd]) mkdirSync(path);
  const store = memoryStore();
  const session = await openSession({ store, id: 'one' });
  return {
    server,
    store,
    session,
    home,
    cwd,
    adapter: (options = {}) => claudeAgentAdapter({ ...claudeOptions({ url: server.url, home, cwd }), ...options }),
  };
}

/** Two turns: tools, then a response. A turn limit of 1 suspends it between them. */
const twoTurns: AgentScript = ({ turn }) =>
  turn === 1 ? { text: 'I will.', toolCalls: [echoCall('a'), echoCall('b')] } : `done ${turn}`;
const INPUT = '[[script:main]] go';

const stateIn = (session: Session): ClaudeAgentState => {
  const snapshot = session
    .select(adapterStates)
    .where((one) => one.state.adapterType === CLAUDE_AGENT)
    .at(-1);
  return snapshot?.state as ClaudeAgentState;
};

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
    const messages = getMessages(session);
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
    expect(getMessages(session).find((message) => message.role === 'tool')).toMatchObject({
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
    for (const pending of first.pending) await approveToolCall(session, pending);
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
    expect(getMessages(session).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
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
    expect(getMessages(session).filter((message) => message.role === 'tool')).toHaveLength(2);
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
    expect(getMessages(session).filter((message) => message.role === 'assistant')).toHaveLength(1);
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

describe('state', () => {
  test('D24, D25: captured at the start, after each tool and at the end, each superseding the one before', async () => {
    const { session, adapter, cwd } = await world({ main: twoTurns });
    const response = await adapter().evaluate(prompt, { session, input: INPUT });
    const snapshots = session.select(adapterStates).where((one) => one.state.adapterType === CLAUDE_AGENT);
    expect(snapshots.map(({ state }) => [state.messageCount, state.complete])).toEqual([
      [2, false],
      [2, false],
      [4, false],
      [5, false],
      [6, true],
    ]);
    expect(snapshots.map(({ supersedes }) => supersedes)).toEqual([
      undefined,
      ...snapshots.slice(0, -1).map(({ id }) => id),
    ]);
    expect(new Set(snapshots.map(({ evaluationId }) => evaluationId))).toEqual(new Set([response.evaluationId]));
    expect(response.adapterState).toMatchObject({
      workspacePath: cwd,
      promptNs: 'test',
      promptKey: 'echo',
      complete: true,
    });
    const [first, last] = [snapshots.at(0), snapshots.at(-1)];
    const changed = first && last && diffAdapterStates(first, last).changes.map(({ field }) => field);
    expect(changed).toEqual(expect.arrayContaining(['complete', 'costUsd', 'lastActivityAt', 'messageCount']));
    expect(changed).not.toContain('sessionId');
  });

  test.for([
    ['on-complete', 3],
    ['on-demand', 3],
    [{ periodic: 3_600_000 }, 3],
    ['on-tool-use', 5],
  ] as const)('checkpoint strategy %j captures %d times', async ([checkpoint, count]) => {
    const { session, adapter } = await world({ main: twoTurns });
    await adapter({ checkpoint }).evaluate(prompt, { session, input: INPUT });
    expect(session.select(adapterStates).where((one) => one.state.adapterType === CLAUDE_AGENT)).toHaveLength(count);
  });

  test('on demand captures when it is called, and captureState: false never', async () => {
    const { server, session, adapter, store } = await world({
      main: () => ({ said: 'done', hold: { name: 'now', at: 1 } }),
      quick: () => 'quick',
    });
    const mine = adapter({ checkpoint: 'on-demand' });
    const controller = new AbortController();
    const running = mine.evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('now');
    expect(await mine.capture(session)).toMatchObject({ resumable: true, state: { adapterType: CLAUDE_AGENT } });
    controller.abort();
    await running;
    expect(await mine.capture(session)).toBeUndefined();
    const other = await openSession({ store, id: 'two' });
    const response = await adapter({ captureState: false }).evaluate(prompt, {
      session: other,
      input: '[[script:quick]]',
    });
    expect(response.adapterState).toBeUndefined();
    expect(latestSnapshot(other, response.evaluationId, CLAUDE_AGENT)).toBeUndefined();
  });

  test('D26: a completed evaluation is not resumable through an older snapshot', async () => {
    const { session, adapter } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const open = findResumableState(session, CLAUDE_AGENT);
    expect(open).toMatchObject({ complete: false });
    expect(findResumableState(session, CLAUDE_AGENT, { ns: 'test', key: 'other' })).toBeUndefined();
    expect(findResumableState(session, 'opencode')).toBeUndefined();
    await adapter().evaluate(prompt, { session, resume: true });
    expect(findResumableState(session, CLAUDE_AGENT)).toBeUndefined();
    if (!open) throw new Error('there was no state');
    await expect(adapter().evaluate(prompt, { session, resume: { adapterState: open } })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
  });

  test('D28: a fork does not change the original; fork: false appends to it', async () => {
    const { session, store, adapter } = await world({ main: twoTurns });
    const sessions = claudeSessionStore(store);
    const load = async (sessionId: string): Promise<readonly unknown[]> =>
      (await sessions.load({ projectKey: '', sessionId })) ?? [];
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const original = stateIn(session).sessionId;
    const before = await load(original);
    await adapter().evaluate(prompt, { session, resume: true });
    const fork = stateIn(session).sessionId;
    expect(fork).not.toBe(original);
    expect(await load(original)).toEqual(before);
    expect((await load(fork)).length).toBeGreaterThan(before.length);

    const other = await openSession({ store, id: 'two' });
    await adapter().evaluate(prompt, { session: other, input: INPUT, maxTurns: 1 });
    const kept = stateIn(other).sessionId;
    const lines = await load(kept);
    await adapter({ fork: false }).evaluate(prompt, { session: other, resume: true });
    expect(stateIn(other).sessionId).toBe(kept);
    const after = await load(kept);
    expect(after.slice(0, lines.length)).toEqual(lines);
    expect(after.length).toBeGreaterThan(lines.length);
  });

  test('D28: the continuation text is an option, and is recorded', async () => {
    const { server, session, adapter } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    await adapter({ continuation: 'On with it.' }).evaluate(prompt, { session, resume: true });
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('On with it.');
    expect(
      getMessages(session)
        .filter((message) => message.role === 'user')
        .at(-1),
    ).toMatchObject({ content: [{ text: 'On with it.' }] });
  });

  test('D50: a new evaluation may continue the conversation of a completed one', async () => {
    const { server, session, adapter } = await world({ main: twoTurns, more: ({ turn }) => `more ${turn}` });
    await adapter().evaluate(prompt, { session, input: INPUT });
    const response = await adapter().evaluate(prompt, { session, input: '[[script:more]] and?', continues: true });
    expect(response.text).toBe('more 1');
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.refusals).toEqual([]);
  });

  test('autoResume continues an open evaluation, and starts a new one when there is none', async () => {
    const { session, adapter } = await world({ main: twoTurns });
    const auto = adapter({ autoResume: true });
    const first = await auto.evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const second = await auto.evaluate(prompt, { session, input: INPUT });
    expect(second).toMatchObject({ status: 'completed', evaluationId: first.evaluationId });
    const third = await auto.evaluate(prompt, { session, input: INPUT });
    expect(third.evaluationId).not.toBe(first.evaluationId);
    const fourth = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    expect((await adapter().evaluate(prompt, { session, input: INPUT })).evaluationId).not.toBe(fourth.evaluationId);
  });

  test('recoverSession continues from the newest state, in one call', async () => {
    const { session, store, adapter } = await world({ main: twoTurns });
    const { evaluationId } = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const response = await recoverSession({ adapter: adapter(), prompt, store, sessionId: session.id, input: INPUT });
    expect(response).toMatchObject({ status: 'completed', evaluationId, text: 'done 2' });
    const fresh = await recoverSession({ adapter: adapter(), prompt, store, sessionId: 'new', input: INPUT });
    expect(fresh).toMatchObject({ status: 'completed' });
  });

  test('a session restored elsewhere from its snapshot resumes the agent in the store', async () => {
    const { session, store, server, adapter } = await world({ main: twoTurns });
    const { evaluationId } = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const snapshot = JSON.stringify(session.snapshot());
    const response = await recoverSession({
      adapter: adapter(),
      prompt,
      store,
      sessionId: 'copy',
      snapshot,
      input: INPUT,
    });
    expect(response).toMatchObject({ status: 'completed', evaluationId, text: 'done 2' });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
  });
});

describe('D29: validation', () => {
  const changed = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo loudly.', tools: [echo] });
  const other = definePrompt({ ns: 'test', key: 'other', instructions: 'You echo.', tools: [echo] });
  const suspended = async (): Promise<World & { readonly adapterState: ClaudeAgentState }> => {
    const made = await world({ main: twoTurns });
    await made.adapter().evaluate(prompt, { session: made.session, input: INPUT, maxTurns: 1 });
    return { ...made, adapterState: stateIn(made.session) };
  };
  const old = (state: ClaudeAgentState): ClaudeAgentState => ({ ...state, lastActivityAt: '2020-01-01T00:00:00.000Z' });

  test('strict rejects another workspace, a changed prompt, an old state and a complete one', async () => {
    const { session, store, adapter, adapterState } = await suspended();
    const resume = { adapterState };
    const elsewhere = temporaryDirectory('elsewhere');
    await expect(adapter({ cwd: elsewhere }).evaluate(prompt, { session, resume })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
    await expect(adapter({ cwd: elsewhere }).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
    await expect(adapter().evaluate(changed, { session, resume })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    await expect(adapter().evaluate(other, { session, resume })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    await expect(adapter({ maxAge: 0 }).evaluate(prompt, { session, resume })).rejects.toMatchObject({
      code: 'SESSION_EXPIRED',
    });
    await expect(adapter({ maxAge: 0 }).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'SESSION_EXPIRED',
    });
    const empty = await openSession({ store, id: 'two' });
    await expect(
      adapter().evaluate(prompt, { session: empty, resume: { adapterState: old(adapterState) } }),
    ).rejects.toMatchObject({ code: 'SESSION_EXPIRED' });
    await expect(
      adapter().evaluate(prompt, { session: empty, resume: { adapterState: { ...adapterState, complete: true } } }),
    ).rejects.toMatchObject({ code: 'ADAPTER_STATE_INVALID' });
    expect(await adapter().evaluate(prompt, { session, resume })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
  });

  test('relaxed accepts another workspace, a changed prompt and an old state, but no complete one; none accepts that, too', async () => {
    const { session, store, adapter, adapterState, server } = await suspended();
    const empty = await openSession({ store, id: 'two' });
    const complete = { ...adapterState, complete: true };
    await expect(
      adapter({ resumeValidation: 'relaxed' }).evaluate(prompt, { session: empty, resume: { adapterState: complete } }),
    ).rejects.toMatchObject({ code: 'ADAPTER_STATE_INVALID' });
    const none = await adapter({ resumeValidation: 'none' }).evaluate(prompt, {
      session: empty,
      resume: { adapterState: complete },
      input: 'Go on.',
    });
    expect(none).toMatchObject({ status: 'completed', text: 'done 2' });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    const cwd = temporaryDirectory('elsewhere');
    const relaxed = adapter({ resumeValidation: 'relaxed', cwd, maxAge: 0 });
    expect(await relaxed.evaluate(changed, { session, resume: { adapterState } })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
  });

  test("onInvalid: 'restart' starts again, and the open evaluation is superseded", async () => {
    const { session, adapter } = await suspended();
    const before = session.summary?.evaluationId;
    const response = await adapter({ maxAge: 0, onInvalid: 'restart' }).evaluate(prompt, {
      session,
      input: INPUT,
      resume: true,
    });
    expect(response).toMatchObject({ status: 'completed', text: 'done 2' });
    expect(response.evaluationId).not.toBe(before);
    expect(session.state.record.evaluations.get(before ?? '')?.status).toBe('superseded');
    expect(ran).toEqual(['a', 'b', 'a', 'b']);
  });

  test('D25: a state of another kind, a damaged one, one that is too large and one of an unknown session are rejected', async () => {
    const { session, adapter, adapterState } = await suspended();
    const refused = (state: Record<string, unknown>, code: string): Promise<void> =>
      expect(
        adapter().evaluate(prompt, { session, resume: { adapterState: { ...adapterState, ...state } } }),
      ).rejects.toMatchObject({ code });
    await refused({ adapterType: 'opencode' }, 'ADAPTER_STATE_INVALID');
    await refused({ sessionId: 7 }, 'ADAPTER_STATE_INVALID');
    await refused({ lastActivityAt: 'yesterday' }, 'ADAPTER_STATE_INVALID');
    await refused({ note: 'x'.repeat(20_000) }, 'ADAPTER_STATE_INVALID');
    await refused({ sessionId: '00000000-0000-4000-8000-000000000000' }, 'SESSION_NOT_FOUND');
  });
});

describe("our log and the SDK's transcript", () => {
  test('D57: lines that the transcript has lost are written into it again, whichever are missing', async () => {
    const { session, store, adapter, server } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    await claudeSessionStore(store).delete({ projectKey: '', sessionId: stateIn(session).sessionId });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.requests.at(-1)?.results.get('toolu_b')).toEqual({ text: 'echo b', isError: false });
    expect(server.refusals).toEqual([]);
    expect(ran).toEqual(['a', 'b']);
  });

  test('a store that fails to mirror loses nothing: the resume uses our log', async () => {
    const { session, store, adapter, server } = await world({ main: twoTurns });
    const { append } = store;
    let mirrored = 0;
    store.append = (id, events, options) =>
      id.startsWith('claude:') && mirrored++ > 0
        ? Promise.reject(new Error('full'))
        : append.call(store, id, events, options);
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    store.append = append;
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
    expect(server.requests.at(-1)?.results.get('toolu_b')).toEqual({ text: 'echo b', isError: false });
    expect(ran).toEqual(['a', 'b']);
  });

  test('D18: a person may permit a rerun of a built-in call: the model is prompted to make it again', async () => {
    const { session, adapter, server } = await world({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [call('Bash', { command: 'tail -f /dev/null', description: 'x' }, 'toolu_bash')] }
          : 'done',
    });
    const controller = new AbortController();
    const running = adapter().evaluate(prompt, {
      session,
      input: INPUT,
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === 'tool/started') controller.abort();
      },
    });
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const unknown = await adapter().evaluate(prompt, { session, resume: true });
    expect(unknown).toMatchObject({
      status: 'suspended',
      reason: 'TOOL_OUTCOME_UNKNOWN',
      pending: [{ callId: 'toolu_bash' }],
    });
    for (const pending of unknown.pending) await settleToolCall(session, pending, { rerun: true });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(server.requests.at(-1)?.results.get('toolu_bash')).toMatchObject({
      text: expect.stringContaining('Call the tool again'),
      isError: true,
    });
  });

  test('D51: two resumes of one session exclude each other', async () => {
    const { session, store, adapter, server } = await world({
      main: () => ({ said: 'done', hold: { name: 'busy', at: 0 } }),
    });
    const controller = new AbortController();
    const running = adapter().evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('busy');
    const second = await openSession({ store, id: session.id });
    await expect(adapter().evaluate(prompt, { session: second, resume: true })).rejects.toMatchObject({
      code: 'SESSION_BUSY',
    });
    controller.abort();
    await running;
    expect(await adapter().evaluate(prompt, { session: second, resume: true })).toMatchObject({ status: 'completed' });
  });

  test.for(['main', 'agent', 'resumed'])(
    'D47: the state built live equals the state of the transcript (%s)',
    async (kind) => {
      const { session, store, adapter } = await world({
        main: ({ turn }) =>
          turn === 1
            ? {
                reasoning: 'hm',
                text: 'I will.',
                toolCalls: [echoCall('a'), call('Bash', { command: 'echo hi', description: 'x' }, 'toolu_bash')],
              }
            : 'done',
        agent: ({ turn }) =>
          turn === 1
            ? {
                toolCalls: [
                  call(
                    'Agent',
                    {
                      description: 'sub',
                      prompt: '[[script:sub]] go',
                      subagent_type: 'general-purpose',
                      run_in_background: false,
                    },
                    'toolu_agent',
                  ),
                ],
              }
            : 'done',
        sub: ({ turn }) => (turn === 1 ? { text: 'sub', toolCalls: [echoCall('s'), echoCall('t')] } : 'sub done'),
      });
      const streamed: ClaudeMessage[] = [];
      const mine = adapter({ onMessage: (message) => streamed.push(message), fork: false });
      const input = `[[script:${kind === 'agent' ? 'agent' : 'main'}]] go`;
      if (kind === 'resumed') await mine.evaluate(prompt, { session, input, maxTurns: 1 });
      await mine.evaluate(prompt, { session, input, resume: kind === 'resumed' });

      const converter = claudeStreamConverter({ now: () => '2030-01-01T00:00:00.000Z' });
      const live = withoutExemptLines(streamed as readonly Line[], EXEMPTIONS).flatMap((message) =>
        converter.push(message),
      );
      const state = stateOf([...live, ...converter.end()]);

      const { main, subagents } = await readClaudeSession(store, stateIn(session).sessionId);
      const filter = (text: unknown): string => textOfLines(withoutExemptLines(linesOf(String(text)), EXEMPTIONS));
      const raw = {
        main: filter(main),
        subagents: subagents.map((one) => ({ ...one, transcript: filter(one.transcript) })),
      };
      const parsed = parseTranscript('claude-sdk', raw).state;
      expect(comparable(plain(state), EXEMPTIONS)).toBe(comparable(plain(parsed), EXEMPTIONS));
      expect(plain(state).blocks.length).toBeGreaterThan(1);
      expect(plain(state).subagents).toHaveLength(kind === 'agent' ? 1 : 0);
    },
  );
});
