/** Real agents continue conversations of other agents: the request to the model has every turn, call and result. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { createAdapter } from '../../src/loop/evaluate/create-adapter.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { HandoffTarget } from '../../src/transcripts/handoff/build-transcript.ts';
import type { HandoffSource } from '../../src/transcripts/handoff/handoff-source.ts';
import { loadTranscript, transcriptToMessages } from '../../src/transcripts.ts';
import { type SaidItem, saidItems } from '../transcripts/handoff/said-items.ts';
import { agentFor, conversationIn, handOver } from './support/hand-over.ts';
import { GO_ON } from './support/handoff-agents.ts';
import { isRead, realTranscripts } from './support/handoff-sources.ts';
import type { SentItem } from './support/sent-items.ts';

function expectedItems(messages: readonly ConversationMessage[]): readonly SentItem[] {
  return saidItems(messages).map(asSent);
}

function asSent(item: SaidItem): SentItem {
  if ('said' in item) return { kind: item.said, text: item.text };
  if ('medium' in item) return { kind: 'image' };
  if ('call' in item) return { kind: 'call', id: item.call, name: item.name, input: item.input };
  return { kind: 'result', id: item.result, text: item.text };
}

const TARGETS: readonly HandoffTarget[] = ['claude-sdk', 'codex', 'opencode'];
const DIRECTIONS = TARGETS.flatMap((from) => TARGETS.filter((to) => to !== from).map((to) => [from, to] as const));
const READ = new Map(await Promise.all(TARGETS.map(async (from) => [from, await isRead(from)] as const)));

describe.for(DIRECTIONS)('from %s to %s', ([from, to]) => {
  test.skipIf(!READ.get(from))('the model gets every turn, call and result of a real session', async () => {
    const agent = await agentFor(to);
    for (const { path, name, ...which } of realTranscripts(from)) {
      const source = await loadTranscript(path, which);
      expect(source.architecture).toBe(from);
      await handOver(agent, source, to);
      const { items, refusals } = agent.sent();
      expect(refusals).toEqual([]);
      const expected = expectedItems(transcriptToMessages(source.architecture, source.raw));
      expect(conversationIn(items), name).toEqual(expected);
      expect(items.findLast(({ kind }) => kind === 'user')).toMatchObject({ text: expect.stringContaining(GO_ON) });
    }
  });
});

const search = defineTool({
  name: 'search',
  description: 'Searches',
  input: z.object({ for: z.string() }),
  effect: 'read',
  execute: ({ for: text }) => {
    if (text === 'nothing') throw new Error('there is no such file');
    return `found ${text}`;
  },
});

const child = definePrompt({ ns: 'test', key: 'child', instructions: 'You count.', tools: [] });

const count = defineTool({
  name: 'count',
  description: 'Counts, with a conversation of its own',
  input: z.object({}),
  effect: 'read',
  execute: async (_, ctx) => (await ctx.evaluate(child, { input: 'Count them.' })).text,
});

/** Two evaluations of our own loop: parallel calls, one of which fails, and a child conversation. */
async function ownLog(): Promise<HandoffSource> {
  const session = await openSession({ store: memoryStore(), id: 'own' });
  const prompt = definePrompt({ ns: 'test', key: 'own', instructions: 'You help.', tools: [search, count] });
  const model = scriptedModel(({ turn, prompt: { key }, messages }) => {
    if (key === 'child') return 'There are three.';
    if (messages.some(({ role, content }) => role === 'user' && JSON.stringify(content).includes('Thanks')))
      return 'Bye.';
    if (turn > 1) return { text: 'Two of three worked.', reasoning: 'So.' };
    const calls = [
      { name: 'search', arguments: { for: 'a' } },
      { name: 'search', arguments: { for: 'nothing' } },
      { name: 'count', arguments: {} },
    ];
    return { text: 'I look.', toolCalls: calls };
  });
  const adapter = createAdapter({ model });
  await adapter.evaluate(prompt, { session, input: 'Look for them.' });
  await adapter.evaluate(prompt, { session, input: 'Thanks.', continues: true });
  const log: SessionEvent[] = [];
  for await (const event of session.events({ from: 1, live: false })) log.push(event);
  return log;
}

describe.for(TARGETS)('from our own log to %s', (to) => {
  test('the model gets every turn, call and result', async () => {
    const agent = await agentFor(to);
    const { losses } = await handOver(agent, await ownLog(), to);
    const { items, refusals } = agent.sent();
    expect(refusals).toEqual([]);
    expect(conversationIn(items)).toEqual([
      { kind: 'user', text: 'Look for them.' },
      { kind: 'assistant', text: 'I look.' },
      { kind: 'call', id: 'call_1_1', name: 'search', input: { for: 'a' } },
      { kind: 'call', id: 'call_1_2', name: 'search', input: { for: 'nothing' } },
      { kind: 'call', id: 'call_1_3', name: 'count', input: {} },
      { kind: 'result', id: 'call_1_1', text: 'found a' },
      { kind: 'result', id: 'call_1_2', text: 'there is no such file' },
      { kind: 'result', id: 'call_1_3', text: 'There are three.' },
      { kind: 'assistant', text: 'Two of three worked.' },
      { kind: 'user', text: 'Thanks.' },
      { kind: 'assistant', text: 'Bye.' },
    ]);
    expect(losses.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['reasoning', 'instructions', "subagent's own transcript"]),
    );
  });
});
