/** Requests under history managers: windows, truncation, custom managers; the record stays complete. */
import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import {
  type CurationContext,
  compose,
  type History,
  type HistoryManager,
  observe,
  slidingWindow,
  truncateToolResults,
} from '../../src/history.ts';
import {
  type ConversationMessage,
  defineTool,
  fromOpenAIChat,
  type ModelRequest,
  memoryStore,
  messages,
  openSession,
  type Session,
  type SessionEvent,
  scriptedModel,
  textOf,
  toOpenAIChat,
} from '../../src/index.ts';

const TURNS = 30;
const verbose = 'x'.repeat(5_000);
const input = z.object({});
const prompt = definePrompt({
  ns: 'docs',
  key: 'research',
  instructions: 'Research.',
  tools: ['search', 'browse'].map((name) =>
    defineTool({ name, description: name, input, effect: 'read', execute: () => `${name}: ${verbose}` }),
  ),
});

let session: Session;
let requests: ModelRequest[];
beforeEach(async () => {
  session = await openSession({ store: memoryStore(), id: 's' });
  requests = [];
});

/** Thirty turns of searching and browsing with a manager. */
async function research(history?: History): Promise<readonly ConversationMessage[]> {
  const model = scriptedModel((request) => {
    requests.push(request);
    const name = request.turn % 2 === 0 ? 'browse' : 'search';
    return request.turn <= TURNS ? { toolCalls: [{ name, arguments: {} }] } : 'Done.';
  });
  const adapter = createAdapter({ model });
  await adapter.evaluate(prompt, { session, input: 'Find out.', ...(history && { history }) });
  return requests.at(-1)?.messages ?? [];
}

const ROLES = ['system', 'user', 'assistant', 'tool'] as const;
const counts = (list: readonly ConversationMessage[]): readonly number[] =>
  ROLES.map((role) => list.filter((message) => message.role === role).length);

test('a sliding window sends the newest messages, and the record has all of them', async () => {
  const sent = await research(slidingWindow({ size: 20 }));
  expect(counts(sent)).toEqual([1, 1, 20, 20]);
  expect(counts(session.messages())).toEqual([1, 1, TURNS + 1, TURNS]);
});

test('truncation, then a window', async () => {
  const sent = await research(compose(truncateToolResults({ maxLength: 1000 }), slidingWindow({ size: 5 })));
  expect(counts(sent)).toEqual([1, 1, 5, 5]);
  for (const message of sent) expect(textOf(message).length).toBeLessThanOrEqual(1000);
  expect(
    session
      .messages()
      .filter((message) => message.role === 'tool')
      .every((one) => textOf(one).length > 5_000),
  ).toBe(true);
});

/** Keeps only the results of tools that are still in use. */
class KeepToolCallsForActiveTools implements HistoryManager {
  readonly #active: (session: CurationContext['session']) => readonly string[];

  constructor(active: (session: CurationContext['session']) => readonly string[]) {
    this.#active = active;
  }

  curate(list: readonly ConversationMessage[], { session: view }: CurationContext): readonly ConversationMessage[] {
    const active = this.#active(view);
    return list.filter((message) => message.role !== 'tool' || active.includes(message.toolName));
  }
}

test('a custom manager may drop results: each becomes a short placeholder (D65)', async () => {
  let asked: unknown;
  const sent = await research(
    new KeepToolCallsForActiveTools((view) => {
      asked = view?.id;
      return ['search'];
    }),
  );
  expect(asked).toBe('s');
  const results = sent.filter((message) => message.role === 'tool');
  expect(results).toHaveLength(TURNS);
  for (const result of results) {
    if (result.toolName === 'search') expect(textOf(result)).toContain(verbose);
    else expect(textOf(result)).toBe('[result left out]');
  }
});

test('any object with a curate method is a manager; no base class is needed', async () => {
  const sent = await research({ curate: (list) => list.slice(-10) });
  expect(counts(sent)).toEqual([1, 1, 5, 5]);
});

test('each request has an event with what its manager did, which listeners outside the loop receive', async () => {
  const curated: SessionEvent[] = [];
  session.subscribe((event) => void curated.push(event), { types: ['history/curated'] });
  await research(slidingWindow({ size: 20 }));
  expect(curated.at(-1)).toMatchObject({
    promptName: 'docs/research',
    strategy: 'sliding-window(20)',
    originalCount: 2 + 2 * TURNS,
    curatedCount: 42,
  });
  const seen: unknown[] = [];
  observe(slidingWindow({ size: 1 }), (what) => seen.push(what)).curate(session.messages(), {});
  expect(seen).toMatchObject([{ strategy: 'sliding-window(1)', originalCount: 3 + 2 * TURNS }]);
});

test('messages are recorded one by one, and can be queried by evaluation and by role', async () => {
  const recorded: SessionEvent[] = [];
  session.subscribe((event) => void recorded.push(event), { types: ['message/recorded'] });
  await research();
  const evaluationId = session.latestEvaluation()?.id;
  expect(recorded).toHaveLength(3 + 2 * TURNS);
  expect(session.select(messages).all()).toEqual(session.messages({ evaluationId }));
  expect(session.select(messages).where((message) => message.role === 'assistant')).toHaveLength(TURNS + 1);
  expect(session.messages().map(({ sequence }) => sequence)).toEqual([...recorded.keys()]);
});

test("messages of a provider's format convert to ours, and back", () => {
  const provider = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'found' },
  ] as const;
  const entries = fromOpenAIChat(
    provider.map((message) => (message.role === 'tool' ? { ...message, name: 'search' } : message)),
    { evaluationId: 'ev', createdAt: '2026-01-01T00:00:00.000Z' },
  );
  expect(entries.map(({ evaluationId, sequence, role }) => [evaluationId, sequence, role])).toEqual([
    ['ev', 0, 'system'],
    ['ev', 1, 'assistant'],
    ['ev', 2, 'tool'],
  ]);
  expect(entries.at(-1)).toMatchObject({ toolName: 'search', toolCallId: 'c1' });
  expect(toOpenAIChat(entries)).toEqual(provider);
});
