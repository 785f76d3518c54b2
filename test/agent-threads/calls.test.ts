import { expect, test } from 'vitest';
import { z } from 'zod';
import { CaptureSchedule } from '../../src/agents/capture-state.ts';
import { ConversationRecorder } from '../../src/agents/conversation-recorder.ts';
import { OpenCodeConversations } from '../../src/agents/opencode/opencode-conversations.ts';
import type { OpenCodeEvent, OpenCodePart } from '../../src/agents/opencode/opencode-types.ts';
import { beginSubagent } from '../../src/agents/subagent-run.ts';
import { ToolRunner } from '../../src/agents/tool-runner.ts';
import type { AdapterStateSnapshot } from '../../src/core/log/adapter-state.ts';
import { textOf } from '../../src/core/log/messages.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import type { Run } from '../../src/loop/evaluate/run.ts';
import type { Session } from '../../src/session/session.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { asAgent } from './as-agent.ts';

/** The calls of an agent: their identity, their order, and their results. */

const SESSION = 'ses_1';
const results = (session: Session): readonly (readonly string[])[] =>
  session.state.record.messages
    .toArray()
    .flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, textOf(message)]] : []));

const part = (messageID: string, state: object): OpenCodeEvent => ({
  type: 'message.part.updated',
  properties: {
    part: {
      id: `${messageID}_call`,
      sessionID: SESSION,
      messageID,
      type: 'tool',
      callID: 'call_0',
      tool: 'bash',
      state: { input: {}, ...state } as unknown as { readonly status: string },
    },
  },
});

test('D11: a call with an id that was used before is another call', async () => {
  const session = await asAgent(async ({ run }) => {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    await threads.take(part('msg_1', { status: 'running' }));
    expect((await threads.recorded(SESSION, 'call_0')).callId).toBe('call_0');
    await threads.take(part('msg_1', { status: 'completed', output: 'first' }));
    const second = threads.recorded(SESSION, 'call_0'); // reported by the plugin before its message is recorded
    await threads.take(part('msg_2', { status: 'running' }));
    expect((await second).callId).toBe('call_0#2');
    await threads.take(part('msg_2', { status: 'completed', output: 'second' }));
  });
  expect(results(session)).toEqual([
    ['call_0', 'first'],
    ['call_0#2', 'second'],
  ]);
});

test("D11: a subagent's call with the id of its parent's call is another call", async () => {
  const child = 'ses_child';
  const task = (status: string): OpenCodeEvent => {
    const { properties } = part('msg_1', { status, metadata: { sessionId: child } });
    return {
      type: 'message.part.updated',
      properties: { part: { ...properties.part, id: 'task', callID: 'call_0', tool: 'task' } as OpenCodePart },
    };
  };
  const inChild = (status: string): OpenCodeEvent => {
    const { properties } = part('msg_2', { status, output: 'hi' });
    return {
      type: 'message.part.updated',
      properties: { part: { ...properties.part, sessionID: child } as OpenCodePart },
    };
  };
  const session = await asAgent(async ({ run }) => {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    await threads.take(task('running'));
    const own = threads.recorded(child, 'call_0');
    await threads.take(inChild('running'));
    const { callId, conversation } = await own;
    expect([callId, conversation.run.evaluationId === run.evaluationId]).toEqual(['call_0', false]);
    expect((await threads.recorded(SESSION, 'call_0')).conversation.run.evaluationId).toBe(run.evaluationId);
    await threads.take(inChild('completed'));
    await threads.take(task('completed'));
  });
  const evaluations = session.state.record.evaluations.items.toArray();
  expect(evaluations.map(({ status }) => status)).toEqual(['completed', 'completed']);
});

const launch = defineTool({
  name: 'launch',
  description: 'Launches',
  input: z.object({}),
  effect: 'once',
  needsApproval: true,
  execute: () => 'launched',
});
const big = defineTool({
  name: 'big',
  description: 'Says too much',
  input: z.object({}),
  effect: 'once',
  execute: async (_, { session }) => {
    await session.dispatch({ type: 'session/described', title: 'x'.repeat(5_000_000) });
    return 'said';
  },
});
const prompt = definePrompt({ ns: 'test', key: 'threads', instructions: 'Work.', tools: [launch, big] });

/** A response with calls, in the log. */
async function answered(run: Run, ...names: readonly string[]): Promise<ConversationRecorder> {
  const recorder = new ConversationRecorder(run);
  const toolCalls = names.map((name) => ({ callId: `call_${name}`, name, arguments: '{}' }));
  await recorder.recordResponse({ providerMessageId: 'msg_1', content: [], toolCalls });
  return recorder;
}

test('D18: a call that needs approval waits for running siblings; afterwards no other call starts', async () => {
  const session = await asAgent(async ({ run: given }) => {
    const run: Run = { ...given, prompt };
    const tools = new ToolRunner(run, {
      used: async () => {},
      conversations: () => [thread],
      isSubagentCall: () => false,
    });
    const thread = await answered(run, 'launch', 'bash', 'late');
    const starting = tools.beforeBuiltIn(thread, 'call_bash', 'once'); // its start is being appended
    let stopped = false;
    const stop = tools.stopped.then((reason) => {
      stopped = true;
      return reason;
    });
    void tools.before(thread, 'call_launch');
    await starting;
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    await thread.recordResult('call_bash', { content: [{ type: 'text', text: 'hi' }], isError: false });
    expect(await stop).toEqual({ plan: true });
    void tools.beforeBuiltIn(thread, 'call_late', 'once');
    void tools.call(thread, 'call_launch');
    await tools.idle();
    expect(run.session.state.record.toolStarts.toArray().map(({ callId }) => callId)).toEqual(['call_bash']);
  });
  expect(results(session)).toEqual([['call_bash', 'hi']]);
});

test('a subagent that ends with an open call is not waited for', async () => {
  await asAgent(async ({ run: given }) => {
    const run: Run = { ...given, prompt };
    const child = await beginSubagent(run, 'call_launch', { ns: 'test', type: 'agent' });
    const threads: ConversationRecorder[] = [];
    const tools = new ToolRunner(run, {
      used: async () => {},
      conversations: () => threads,
      isSubagentCall: () => false,
    });
    const thread = await answered(run, 'launch');
    const inner = await answered(child, 'bash');
    threads.push(thread, inner);
    await tools.beforeBuiltIn(inner, 'call_bash', 'once');
    void tools.before(thread, 'call_launch');
    await new Promise((resolve) => setImmediate(resolve));
    threads.pop();
    inner.ended();
    expect(await tools.stopped).toEqual({ plan: true });
  });
});

test('a result that the log rejects is recorded as a failure', async () => {
  const session = await asAgent(async ({ run: given }) => {
    const run: Run = { ...given, prompt };
    const tools = new ToolRunner(run, {
      used: async () => {},
      conversations: () => [thread],
      isSubagentCall: () => false,
    });
    const thread = await answered(run, 'big');
    await tools.before(thread, 'call_big');
    expect(await tools.call(thread, 'call_big')).toMatchObject({ isError: true });
  });
  expect(results(session)).toEqual([['call_big', expect.stringContaining('refused')]]);
});

test('D24: periodic captures end with the run, also if one is running at its end', async () => {
  const clock = fakeClock();
  await asAgent(
    async ({ run }) => {
      const captures: PromiseWithResolvers<AdapterStateSnapshot | undefined>[] = [];
      const capture = (): Promise<AdapterStateSnapshot | undefined> => {
        const one = Promise.withResolvers<AdapterStateSnapshot | undefined>();
        captures.push(one);
        return one.promise;
      };
      const checkpoints = new CaptureSchedule(run, { periodic: 10 }, capture);
      const begun = checkpoints.begun();
      captures[0]?.resolve(undefined);
      await begun;
      clock.advance(10);
      expect(captures).toHaveLength(2);
      checkpoints.stop();
      captures[1]?.resolve(undefined);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(100);
      expect(captures).toHaveLength(2);
    },
    { clock },
  );
});
