import { expect, test } from 'vitest';
import { ClaudeConversations } from '../../src/agents/claude-agent/claude-conversations.ts';
import type { ClaudeMessage } from '../../src/agents/claude-agent/sdk-types.ts';
import { OpenCodeConversations } from '../../src/agents/opencode/opencode-conversations.ts';
import type { OpenCodeEvent } from '../../src/agents/opencode/opencode-types.ts';
import type { Session } from '../../src/session/session.ts';
import { asAgent } from './as-agent.ts';

/**
 * Between an agent's response and its append: a call that is being appended must not be treated as recorded, or its tool would act on
 * a call that a crash could lose (D7, D57).
 */

const SESSION = 'ses_1';
const CALL = 'call_1';

/** Calls of every conversation of the session, including subagents'. */
function callsInLog(session: Session): readonly string[] {
  return session.state.record.evaluations.items
    .toArray()
    .flatMap(({ messages }) => [...messages])
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .map(({ callId }) => callId);
}

test('OpenCode: a call whose message is being appended runs when the append is committed', async () => {
  const session = await asAgent(async ({ run, session, hold }) => {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    const { reached, release } = hold();
    const taken = threads.take(runningTool);
    await reached.promise;
    expect(threads.recorders[0]?.hasCall(CALL)).toBe(false);
    const inLogWhenGiven = threads
      .recorded(SESSION, CALL)
      .then(({ callId, conversation }) => [conversation.call(callId)?.name, callsInLog(session)]);
    release.resolve();
    await taken;
    expect(await inLogWhenGiven).toEqual(['note', [CALL]]);
  });
  expect(callsInLog(session)).toEqual([CALL]);
});

test('OpenCode: a call that is unknown waits for its message', async () => {
  await asAgent(async ({ run, session }) => {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    const inLogWhenGiven = threads
      .recorded(SESSION, CALL)
      .then(({ callId, conversation }) => [conversation.call(callId)?.name, callsInLog(session)]);
    await threads.take(runningTool);
    expect(await inLogWhenGiven).toEqual(['note', [CALL]]);
  });
});

for (const [where, parent] of [
  ['the main conversation', null],
  ['a subagent', 'toolu_parent'],
] as const) {
  test(`Claude, in ${where}: a call whose response is being appended runs when the append is committed`, async () => {
    await asAgent(async ({ run, session, hold }) => {
      const threads = new ClaudeConversations(run);
      if (parent) {
        for (const message of claudeAnswer(parent, null, 'msg_0', 'Task')) await threads.take(message);
        await threads.flush();
      }
      const [begin, answer, end] = claudeAnswer(CALL, parent, 'msg_1', 'note');
      await threads.take(begin);
      await threads.take(answer);
      const { reached, release } = hold();
      const writing = parent ? threads.recorded(CALL) : threads.take(end);
      await reached.promise;
      expect(threads.conversationOf(CALL)).toBeUndefined();
      const inLogWhenGiven = threads
        .recorded(CALL)
        .then(() => [threads.conversationOf(CALL)?.call(CALL)?.name, callsInLog(session)]);
      const flushed = threads.flush().then(() => callsInLog(session));
      release.resolve();
      await writing;
      expect(await inLogWhenGiven).toEqual(['note', parent ? [parent, CALL] : [CALL]]);
      expect(await flushed).toContain(CALL);
    });
  });
}

test('Claude: a response without a stream, after a stream that broke off, is recorded before its call runs', async () => {
  const session = await asAgent(async ({ run }) => {
    const threads = new ClaudeConversations(run);
    const [begin, answer] = claudeAnswer(CALL, null, 'msg_2', 'note');
    await threads.take({
      ...begin,
      event: { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 9 } } },
    } as ClaudeMessage);
    const usage = { input_tokens: 3, output_tokens: 2 };
    const whole = { ...answer, message: { ...(answer.message as object), usage } } as ClaudeMessage;
    const waiting = threads.recorded(CALL);
    await threads.take(whole);
    await waiting;
    expect(threads.conversationOf(CALL)?.call(CALL)?.name).toBe('note');
  });
  expect(session.state.record.evaluations.items.at(0)?.totalUsage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
});

const runningTool: OpenCodeEvent = {
  type: 'message.part.updated',
  properties: {
    part: {
      id: 'prt_1',
      sessionID: SESSION,
      messageID: 'msg_1',
      type: 'tool',
      callID: CALL,
      tool: 'holdfast_note',
      state: { status: 'running', input: { text: 'a' } },
    },
  },
};

/** A response with one call, as the SDK streams it: the beginning, the block, the end. */
function claudeAnswer(
  callId: string,
  parent: string | null,
  id: string,
  name: string,
): readonly [ClaudeMessage, ClaudeMessage, ClaudeMessage] {
  const common = { parent_tool_use_id: parent, session_id: SESSION };
  const block = { type: 'tool_use', id: callId, name: name === 'Task' ? name : `mcp__holdfast__${name}`, input: {} };
  return [
    { ...common, type: 'stream_event', event: { type: 'message_start', message: { id } } },
    { ...common, type: 'assistant', message: { id, role: 'assistant', model: 'm', content: [block] } },
    { ...common, type: 'stream_event', event: { type: 'message_stop' } },
  ] as unknown as readonly [ClaudeMessage, ClaudeMessage, ClaudeMessage];
}
