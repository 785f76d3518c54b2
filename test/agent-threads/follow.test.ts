import { expect, test } from 'vitest';
import { OpenCodeThreads } from '../../src/agents/opencode/opencode-threads.ts';
import type { OpenCodeEvent } from '../../src/agents/opencode/opencode-types.ts';
import { asAgent } from './as-agent.ts';

/** When OpenCode is asked, when it has answered, and when it never will. */

const SESSION = 'ses_1';

const event = (type: string, properties: object = {}): OpenCodeEvent => ({ type, properties });
const connected = event('server.connected');
const status = (type: string, sessionID = SESSION): OpenCodeEvent =>
  event('session.status', { sessionID, status: { type } });
const problem = (message: string, sessionID = SESSION): OpenCodeEvent =>
  event('session.error', { sessionID, error: { name: 'Problem', message } });
const said = (id: string, text: string): readonly OpenCodeEvent[] => [
  event('message.part.updated', {
    part: { id: `prt_${id}`, sessionID: SESSION, messageID: id, type: 'text', text, time: { start: 1, end: 2 } },
  }),
  event('message.updated', {
    info: { id, sessionID: SESSION, role: 'assistant', time: { created: 1, completed: 2 } },
  }),
];

interface Followed {
  /** How often it was asked, and after how many events. */
  readonly asked: readonly number[];
  /** How many events were read. */
  readonly read: number;
  readonly texts: readonly unknown[];
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
    const threads = new OpenCodeThreads(run, { sessionId: SESSION, old: new Set(), used: async () => {} });
    try {
      await threads.follow(stream(), { ask: async () => void asked.push(read), answerFor: async () => {} });
    } catch (error) {
      failure = (error as Error).message;
    }
  });
  const texts = session.state.record.messages
    .toArray()
    .flatMap(({ role, content }) => (role === 'assistant' ? [...content] : []))
    .map((part) => 'text' in part && part.text);
  return { asked, read, texts, ...(failure !== undefined && { failure }) };
}

test('it is asked when it tells what it does, not before', async () => {
  const events = [event('plugin.added'), connected, status('busy'), ...said('msg_1', 'done'), status('idle')];
  expect(await follow(events)).toEqual({ asked: [2], read: 6, texts: ['done'] });
});

test('it has answered when it is idle after it was busy; an idle subagent and what was before do not count', async () => {
  const before = [connected, status('idle'), status('busy'), status('idle', 'ses_child'), ...said('msg_1', 'first')];
  const events = [...before, status('busy'), ...said('msg_2', 'second'), status('idle'), ...said('msg_3', 'never')];
  expect(await follow(events)).toEqual({ asked: [1], read: 10, texts: ['first', 'second'] });
});

test('a problem ends it with its reason: at once if it did not begin, else when it is idle', async () => {
  expect(await follow([connected, problem('no such model'), ...said('msg_1', 'never')])).toMatchObject({
    read: 2,
    failure: expect.stringContaining('no such model'),
  });
  expect(await follow([connected, status('busy'), problem('overloaded'), status('idle')])).toMatchObject({
    read: 4,
    failure: expect.stringContaining('overloaded'),
  });
});

test('a problem that an answer comes after is none, nor is a subagent’s', async () => {
  const events = [connected, status('busy'), problem('too long'), problem('its own', 'ses_child')];
  expect(await follow([...events, ...said('msg_1', 'shorter'), status('idle')])).toEqual({
    asked: [1],
    read: 7,
    texts: ['shorter'],
  });
});

test('if it stops telling, the answer is not waited for', async () => {
  expect(await follow([connected, status('busy'), ...said('msg_1', 'half')])).toMatchObject({
    texts: ['half'],
    failure: expect.stringContaining('stopped telling'),
  });
});
