import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ClaudeConversations } from '../../src/agents/claude-agent/claude-conversations.ts';
import type { ClaudeMessage } from '../../src/agents/claude-agent/sdk-types.ts';
import { OpenCodeConversations } from '../../src/agents/opencode/opencode-conversations.ts';
import type { OpenCodeEvent } from '../../src/agents/opencode/opencode-types.ts';
import { beginSubagent, interruptLeftSubagents } from '../../src/agents/subagent-run.ts';
import { isMessageDelta, type MessageDelta } from '../../src/loop/evaluate/provider-adapter.ts';
import type { Run } from '../../src/loop/evaluate/run.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type AgentRun, asAgent } from './as-agent.ts';

/** D53, D57: an agent's streaming response is emitted like our own loop's, and is a draft until it is recorded. */

const SESSION = 'ses_1';

/** One agent's response with reasoning, text and, for Claude, a call: its stream and its end. */
interface Speaker {
  readonly name: string;
  begin(run: Run): {
    say(): Promise<void>;
    finish(): Promise<void>;
    interrupt(): Promise<void>;
    /** Starts the response again, as after a broken connection. */
    again(): Promise<void>;
  };
  readonly blocks: readonly [kind: string, text: string, toolName?: string][];
}

const claude: Speaker = {
  name: 'Claude',
  blocks: [
    ['reasoning', 'hm, hm'],
    ['text', 'I will.'],
    ['tool-input', '{"a":1}', 'echo'],
  ],
  begin(run) {
    const threads = new ClaudeConversations(run);
    const take = async (type: string, content: object): Promise<void> => {
      const message = { type, parent_tool_use_id: null, session_id: SESSION, ...content };
      await threads.take(message as unknown as ClaudeMessage);
    };
    const stream = (event: object): Promise<void> => take('stream_event', { event });
    const thinking = { type: 'thinking', thinking: 'hm, hm', signature: 's' };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'mcp__holdfast__echo', input: { a: 1 } };
    const say = async (): Promise<void> => {
      await stream({ type: 'message_start', message: {} });
      await stream({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } });
      for (const text of ['hm, ', 'hm'])
        await stream({ type: 'content_block_delta', index: 0, delta: { thinking: text } });
      await stream({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } });
      for (const text of ['I ', 'will.']) await stream({ type: 'content_block_delta', index: 1, delta: { text } });
      await stream({ type: 'content_block_start', index: 2, content_block: { ...call, input: {} } });
      await stream({ type: 'content_block_delta', index: 2, delta: { partial_json: '{"a":1}' } });
    };
    return {
      say,
      again: say,
      interrupt: () => threads.interrupt(),
      async finish() {
        const said = { id: 'msg_1', role: 'assistant', model: 'm' };
        for (const block of [thinking, { type: 'text', text: 'I will.' }, call])
          await take('assistant', { message: { ...said, content: [block] } });
        await stream({ type: 'message_stop' });
      },
    };
  },
};

const openCode: Speaker = {
  name: 'OpenCode',
  blocks: [
    ['reasoning', 'hm, hm'],
    ['text', 'I will.'],
  ],
  begin(run) {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    const take = (type: string, properties: object): Promise<void> =>
      threads.take({ type, properties } as unknown as OpenCodeEvent);
    const part = (id: string, type: string, text: string, end?: number): Promise<void> => {
      const time = { start: 1, ...(end !== undefined && { end }) };
      return take('message.part.updated', { part: { id, sessionID: SESSION, messageID: 'msg_1', type, text, time } });
    };
    const delta = (partID: string, text: string): Promise<void> =>
      take('message.part.delta', { sessionID: SESSION, messageID: 'msg_1', partID, field: 'text', delta: text });
    const say = async (): Promise<void> => {
      await part('prt_1', 'reasoning', '');
      for (const text of ['hm, ', 'hm']) await delta('prt_1', text);
      await part('prt_2', 'text', '');
      for (const text of ['I ', 'will.']) await delta('prt_2', text);
    };
    return {
      say,
      async again() {
        await threads.interrupt();
        await say();
      },
      interrupt: () => threads.interrupt(),
      async finish() {
        await part('prt_1', 'reasoning', 'hm, hm', 2);
        await part('prt_2', 'text', 'I will.', 3);
        await part('prt_3', 'step-finish', '');
        const time = { created: 1, completed: 4 };
        await take('message.updated', { info: { id: 'msg_1', sessionID: SESSION, role: 'assistant', time } });
      },
    };
  },
};

const deltasOf = ({ events }: AgentRun): readonly MessageDelta[] => events.filter(isMessageDelta);

/** Each streamed block: its id, its kind, and its text. */
function textsOf(deltas: readonly MessageDelta[]): readonly (readonly [string, string, string])[] {
  const blocks = new Map<string, { readonly kind: string; text: string }>();
  for (const { blockId, kind, delta, offset } of deltas) {
    const block = blocks.get(blockId) ?? { kind, text: '' };
    expect(offset).toBe(block.text.length);
    block.text += delta;
    blocks.set(blockId, block);
  }
  return [...blocks].map(([id, { kind, text }]) => [id, kind, text]);
}

describe.for([claude, openCode].map((speaker) => [speaker.name, speaker] as const))('%s', ([, speaker]) => {
  async function during(look: (agent: AgentRun, clock: FakeClock) => Promise<void>): Promise<void> {
    const clock = fakeClock(Date.UTC(2026, 0, 1));
    await asAgent((agent) => look(agent, clock), { clock });
  }
  const draftOf = ({ run, session }: AgentRun) => session.store.readDraft(session.id, { draftId: run.evaluationId });

  test('streamed blocks have the same ids, kinds and texts as the recorded ones', async () => {
    await during(async (agent) => {
      const answer = speaker.begin(agent.run);
      await answer.say();
      const blocks = textsOf(deltasOf(agent));
      expect(blocks.map(([, kind, text]) => [kind, text])).toEqual(speaker.blocks.map(([kind, text]) => [kind, text]));
      expect(deltasOf(agent).map(({ turn, attempt }) => [turn, attempt])).toEqual(deltasOf(agent).map(() => [1, 1]));
      await answer.finish();
      const message = agent.session.state.record.messages.at(-1);
      if (message?.role !== 'assistant') throw new Error('nothing was recorded');
      const { evaluationId, turn } = message;
      expect(blocks.map(([id]) => id)).toEqual([
        ...message.content.map((_, i) => `${message.id}:${i}`),
        ...(message.toolCalls ?? []).map(({ callId }) => `${evaluationId}/${turn}/${callId}`),
      ]);
    });
  });

  test('a draft has the streaming text, and is removed when the response is recorded', async () => {
    await during(async (agent, clock) => {
      const answer = speaker.begin(agent.run);
      await answer.say();
      expect(await draftOf(agent)).toEqual([]); // written at intervals, not for every delta
      clock.advance(1000);
      while ((await draftOf(agent)).length === 0) await setImmediate();
      const chunks = await draftOf(agent);
      expect(chunks.map(({ kind, delta, toolName }) => [kind, delta, ...(toolName ? [toolName] : [])])).toEqual(
        speaker.blocks,
      );
      await answer.finish();
      while ((await draftOf(agent)).length > 0) await setImmediate();
    });
  });

  test('a response that breaks off is recorded as interrupted, and its repetition is another attempt', async () => {
    await during(async (agent) => {
      const answer = speaker.begin(agent.run);
      await answer.say();
      await answer.again();
      expect(deltasOf(agent).map(({ attempt }) => attempt)).toContain(2);
      await answer.interrupt();
      await answer.interrupt(); // nothing left to interrupt
      const interrupted = agent.events.filter((event) => event.type === 'message/interrupted');
      expect(interrupted).toMatchObject(
        [1, 2].map((attempt) => ({ attempt, turn: 1, blocks: speaker.blocks.map(([kind, text]) => ({ kind, text })) })),
      );
      expect(agent.session.state.record.messages.toArray().map(({ role }) => role)).toEqual(['system', 'user']);
    });
  });
});

describe('OpenCode, with events in an unusual order', () => {
  const at = { sessionID: SESSION, messageID: 'msg_1' };
  const event = (type: string, properties: object): OpenCodeEvent => ({ type, properties }) as unknown as OpenCodeEvent;
  const text = (words: string, end?: number): OpenCodeEvent =>
    event('message.part.updated', {
      part: { ...at, id: 'prt_1', type: 'text', text: words, time: { start: 1, ...(end !== undefined && { end }) } },
    });
  const delta = (words: string): OpenCodeEvent =>
    event('message.part.delta', { ...at, partID: 'prt_1', field: 'text', delta: words });
  const tool: OpenCodeEvent = event('message.part.updated', {
    part: { ...at, id: 'prt_2', type: 'tool', callID: 'c', tool: 'read', state: { status: 'running', input: {} } },
  });
  const stepFinish: OpenCodeEvent = event('message.part.updated', {
    part: { ...at, id: 'prt_3', type: 'step-finish' },
  });
  const completed: OpenCodeEvent = event('message.updated', {
    info: { id: 'msg_1', sessionID: SESSION, role: 'assistant', time: { created: 1, completed: 2 } },
  });
  const begin = (run: Run): OpenCodeConversations =>
    new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
  const contentOf = ({ session }: AgentRun): unknown => session.state.record.messages.at(-1)?.content;

  test('a text that does not end before the following call is recorded with the call, and its rest afterwards', async () => {
    await asAgent(async (agent) => {
      const threads = begin(agent.run);
      for (const one of [text(''), delta('I '), delta('will'), tool]) await threads.take(one);
      expect(contentOf(agent)).toEqual([{ type: 'text', text: 'I will' }]);
      await threads.take(delta(' soon.'));
      await threads.interrupt();
      expect(agent.events.filter(({ type }) => type === 'message/interrupted')).toEqual([]);
      for (const one of [text('I will soon.', 2), stepFinish, completed]) await threads.take(one);
      expect(contentOf(agent)).toEqual([
        { type: 'text', text: 'I will' },
        { type: 'text', text: ' soon.' },
      ]);
    });
  });

  test('deltas that arrive after their message was recorded are ignored', async () => {
    await asAgent(async (agent) => {
      const threads = begin(agent.run);
      await threads.take(text(''));
      await threads.take(delta('I '));
      for (const one of [text('I will.', 2), stepFinish, completed]) await threads.take(one);
      await threads.take(delta('will.'));
      await threads.interrupt();
      expect(contentOf(agent)).toEqual([{ type: 'text', text: 'I will.' }]);
      expect(agent.events.map(({ type }) => type)).not.toContain('message/interrupted');
      expect(deltasOf(agent).map((one) => one.delta)).toEqual(['I ']);
    });
  });
});

test("the partial response of a killed process's subagent is recorded as interrupted when its parent is resumed", async () => {
  await asAgent(async (agent) => {
    const { run, session } = agent;
    const child = await beginSubagent(run, 'call_1', { ns: 'test', type: 'agent' });
    const place = { evaluationId: child.evaluationId, turn: 1, attempt: 1, blockId: 'b', kind: 'text' as const };
    const chunk = { ...place, draftId: child.evaluationId, fence: run.fence, n: 1, delta: 'half a ' };
    await session.store.appendDraft(session.id, [chunk], { fence: run.fence });
    await interruptLeftSubagents(run);
    expect(await session.store.readDraft(session.id, { draftId: child.evaluationId })).toEqual([]);
    const said = agent.events.filter(({ type }) => type === 'message/interrupted');
    expect(said).toMatchObject([{ evaluationId: child.evaluationId, blocks: [{ text: 'half a ' }] }]);
    expect([child.attempts, child.draft]).toEqual([0, undefined]);
  });
});
