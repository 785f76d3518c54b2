import { expect, test } from 'vitest';
import { OpenCodeConversations } from '../../src/agents/opencode/opencode-conversations.ts';
import type { OpenCodeEvent } from '../../src/agents/opencode/opencode-types.ts';
import { asAgent } from './as-agent.ts';

/** When OpenCode is prompted, when it has responded, and when it never will. */

const SESSION = 'ses_1';

const event = (type: string, properties: object = {}): OpenCodeEvent => ({ type, properties });
const connected = event('server.connected');
const status = (type: string, sessionID = SESSION): OpenCodeEvent =>
  event('session.status', { sessionID, status: { type } });
const problem = (message: string, sessionID = SESSION): OpenCodeEvent =>
  event('session.error', { sessionID, error: { name: 'Problem', message } });
const part = (messageID: string, id: string, rest: object): OpenCodeEvent =>
  event('message.part.updated', { part: { id: `${messageID}_${id}`, sessionID: SESSION, messageID, ...rest } });
const text = (messageID: string, said: string): OpenCodeEvent =>
  part(messageID, 'text', { type: 'text', text: said, time: { start: 1, end: 2 } });
const stepFinish = (messageID: string): OpenCodeEvent => part(messageID, 'finish', { type: 'step-finish' });
const tokens = { input: 3, output: 2, reasoning: 0, cache: { read: 0, write: 0 } };
const complete = (id: string): OpenCodeEvent =>
  event('message.updated', {
    info: { id, sessionID: SESSION, role: 'assistant', time: { created: 1, completed: 2 }, tokens },
  });
const said = (id: string, words: string): readonly OpenCodeEvent[] => [text(id, words), stepFinish(id), complete(id)];

interface Followed {
  /** How many times it was prompted, and after how many events. */
  readonly asked: readonly number[];
  /** The number of events read. */
  readonly read: number;
  readonly texts: readonly unknown[];
  readonly usage: unknown;
  readonly failure?: string;
}

async function follow(events: readonly OpenCodeEvent[]): Promise<Followed> {
  const asked: number[] = [];
  let read = 0;
  let failure: string | undefined;
  async function* stream(): AsyncGenerator<OpenCodeEvent> {
    for (const one of events) {
      read++;
      yield one;
    }
  }
  const session = await asAgent(async ({ run }) => {
    const threads = new OpenCodeConversations(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    try {
      await threads.follow(stream(), { ask: async () => void asked.push(read), respondTo: async () => {} });
    } catch (error) {
      failure = (error as Error).message;
    }
  });
  const texts = session.state.record.messages
    .toArray()
    .flatMap(({ role, content }) => (role === 'assistant' ? [...content] : []))
    .map((part) => 'text' in part && part.text);
  const usage = session.state.record.evaluations.items.at(0)?.totalUsage;
  return { asked, read, texts, usage, ...(failure !== undefined && { failure }) };
}

test('OpenCode is prompted only after its event stream is connected', async () => {
  const events = [event('plugin.added'), connected, status('busy'), ...said('msg_1', 'done'), status('idle')];
  expect(await follow(events)).toMatchObject({ asked: [2], read: 7, texts: ['done'] });
});

test('OpenCode has responded when it is idle after it was busy; an idle subagent and earlier events do not count', async () => {
  const before = [connected, status('idle'), status('busy'), status('idle', 'ses_child'), ...said('msg_1', 'first')];
  const events = [...before, status('busy'), ...said('msg_2', 'second'), status('idle'), ...said('msg_3', 'never')];
  expect(await follow(events)).toMatchObject({ asked: [1], read: 12, texts: ['first', 'second'] });
});

test('a problem fails the run with its reason: at once before the start, otherwise when OpenCode is idle', async () => {
  expect(await follow([connected, problem('no such model'), ...said('msg_1', 'never')])).toMatchObject({
    read: 2,
    failure: expect.stringContaining('no such model'),
  });
  expect(await follow([connected, status('busy'), problem('overloaded'), status('idle')])).toMatchObject({
    read: 4,
    failure: expect.stringContaining('overloaded'),
  });
});

test("a problem before a response is ignored, and so is a subagent's", async () => {
  const events = [connected, status('busy'), problem('too long'), problem('its own', 'ses_child')];
  expect(await follow([...events, ...said('msg_1', 'shorter'), status('idle')])).toMatchObject({
    asked: [1],
    read: 8,
    texts: ['shorter'],
  });
});

test('an agent whose event stream ends early fails the evaluation instead of hanging', async () => {
  expect(await follow([connected, status('busy'), ...said('msg_1', 'half')])).toMatchObject({
    texts: ['half'],
    failure: expect.stringContaining('event stream ended'),
  });
});

test('a response that is reported as complete before its parts is recorded in full, and charged once', async () => {
  // OpenCode reports the current state of a message: a slow reader sees it completed when it is created.
  const call = (status: string): OpenCodeEvent =>
    part('msg_1', 'call', { type: 'tool', callID: 'call_1', tool: 'read', state: { status, input: {}, output: 'x' } });
  const events = [complete('msg_1'), text('msg_1', 'I will.'), call('running'), call('completed'), stepFinish('msg_1')];
  const second = [complete('msg_2'), ...said('msg_2', 'done'), complete('msg_2')];
  const followed = await follow([
    connected,
    status('busy'),
    ...events,
    complete('msg_1'),
    complete('msg_1'),
    ...second,
    status('idle'),
  ]);
  expect(followed).toMatchObject({ texts: ['I will.', 'done'], usage: { inputTokens: 6, outputTokens: 4 } });
  expect(followed.failure).toBeUndefined();
});

test('a response whose step did not end is recorded when OpenCode is idle; a user message is not a response', async () => {
  const asked = part('msg_0', 'text', { type: 'text', text: 'go' });
  const events = [connected, asked, status('busy'), text('msg_1', 'done'), complete('msg_1'), status('idle')];
  expect(await follow(events)).toMatchObject({ texts: ['done'], usage: { inputTokens: 3, outputTokens: 2 } });
});
