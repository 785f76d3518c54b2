/** Which appends of the loop need not wait for the disk: only those that a resume would make again (docs/storage.md). */
import { expect, test } from 'vitest';
import { type AnyTool, appendAll, defineSlice, memoryStore, type NewEvent, type Store } from '../../src/index.ts';
import { agent, call, tool } from './agent.ts';

/** A store with a record of its appends: which events, and whether they may be synced later. */
function recordingStore(): { readonly store: Store; readonly late: string[]; readonly waiting: string[] } {
  const store = memoryStore();
  const late: string[] = [];
  const waiting: string[] = [];
  const append: Store['append'] = (id, events, options) => {
    (options.syncLater ? late : waiting).push(...events.map(nameOf));
    return store.append(id, events, options);
  };
  return { store: { ...store, append }, late, waiting };
}

function nameOf(event: NewEvent): string {
  if (event.type !== 'message/recorded') return event.type;
  const { message } = event as Extract<NewEvent, { type: 'message/recorded' }>;
  return message.role === 'tool' ? `result of ${message.toolName}` : message.role;
}

async function appendsOf(tools: readonly AnyTool[], names: readonly string[], options = {}) {
  const { store, late, waiting } = recordingStore();
  const { evaluate } = await agent({ script: [{ toolCalls: names.map((name) => call(name)) }, 'ok'], store, tools });
  await evaluate({ input: 'Go.', ...options });
  return { late, waiting };
}

const look = tool('look', () => 'seen', { effect: 'read' });
const write = tool('write', () => 'written', { effect: 'idempotent' });
const buy = tool('buy', () => 'bought', { effect: 'once' });

test('results of read and idempotent calls may be synced later, everything else waits for the disk', async () => {
  const { late, waiting } = await appendsOf([look, write], ['look', 'write']);
  expect(late.sort()).toEqual(['result of look', 'result of write']);
  expect(waiting.filter((name) => name.startsWith('result'))).toEqual([]);
  expect(waiting.filter((name) => name === 'assistant')).toHaveLength(2);
});

test('the result of a once call waits for the disk, also beside results that need not', async () => {
  const alone = await appendsOf([buy], ['buy']);
  expect([alone.late, alone.waiting.includes('result of buy')]).toEqual([[], true]);
  const beside = await appendsOf([look, buy], ['look', 'buy']);
  expect(beside.late).not.toContain('result of buy');
});

test('a failed result of a once call waits for the disk', async () => {
  const broken = tool('buy', () => Promise.reject(new Error('no money')), { effect: 'once' });
  expect((await appendsOf([broken], ['buy'])).late).toEqual([]);
});

test('a result with events that its tool dispatched waits for the disk', async () => {
  const noting = tool('write', (_, ctx) => void ctx.session.dispatch({ type: 'note/added', text: 'x' }), {
    effect: 'idempotent',
    slices: [defineSlice({ name: 'notes', initial: [], on: { 'note/added': appendAll } })],
  });
  expect((await appendsOf([noting], ['write'])).late).toEqual([]);
});

test('a result that is recorded with the start of the next call waits for the disk', async () => {
  const { late, waiting } = await appendsOf([write], ['write', 'write'], { maxParallelCalls: 1 });
  expect([late, waiting.filter((name) => name === 'result of write')]).toEqual([
    ['result of write'],
    ['result of write'],
  ]);
});

test('a result that is recorded with the resume of its evaluation waits for the disk', async () => {
  const { store, late, waiting } = recordingStore();
  const stop = new AbortController();
  let runs = 0;
  const slow = tool('look', (_, { signal }) => (runs++ === 0 ? untilAborted(stop, signal) : 'seen'), {
    effect: 'read',
  });
  const { evaluate } = await agent({ script: [{ toolCalls: [call('look')] }, 'ok'], store, tools: [slow] });
  await evaluate({ input: 'Go.', signal: stop.signal });
  const { status } = await evaluate({ resume: true });
  expect(status).toBe('completed');
  expect(late).not.toContain('evaluation/resumed');
  expect(waiting).toContain('evaluation/resumed');
});

function untilAborted(stop: AbortController, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    stop.abort();
  });
}
