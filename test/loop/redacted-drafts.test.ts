import { expect, test } from 'vitest';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { type Model, type ModelPart, memoryStore, type NewEvent, openSession } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const SECRET = 'sk-secret42';
const PIECES = ['my key is sk-se', 'cret42', ' and I', ' say more', ' words'] as const;
const redactText = (text: string): string => text.replaceAll(SECRET, '[key]');
const redact = (event: NewEvent): NewEvent => JSON.parse(redactText(JSON.stringify(event))) as NewEvent;

/** Streams the pieces, slowly enough that a draft is written between any two; returns the stored chunks. */
async function storedWhile(options: object, fails = false): Promise<{ drafts: readonly string[]; log: string }> {
  const clock = fakeClock();
  const store = memoryStore();
  const drafts: string[] = [];
  const appendDraft = store.appendDraft.bind(store);
  store.appendDraft = async (...args) => {
    drafts.push(...args[1].map((chunk) => chunk.delta));
    return appendDraft(...args);
  };
  const model: Model = {
    provider: 'test',
    modelId: 'talker',
    async *stream(): AsyncGenerator<ModelPart> {
      for (const delta of PIECES) {
        yield { type: 'text-delta', blockId: 'b', delta };
        await clock.advance(200);
      }
      if (fails) throw new Error('it broke');
      yield {
        type: 'finish',
        response: { content: [{ type: 'text', text: PIECES.join('') }], toolCalls: [] },
      };
    },
  };
  const session = await openSession({ store, id: 's1', clock, ...options });
  const prompt = definePrompt({ ns: 'n', key: 'k', instructions: 'Talk.' });
  await createAdapter({ model, maxModelRetries: 0 }).evaluate(prompt, { session, input: 'go' });
  let log = '';
  for await (const event of session.events()) log += JSON.stringify(event);
  return { drafts, log };
}

test('D77: with redact and without redactText, drafts are not stored', async () => {
  expect((await storedWhile({ redact })).drafts).toEqual([]);
});

test('D77: with redactText, drafts are stored redacted and cut at whitespace', async () => {
  for (const options of [{ redact, redactText }, { redactText }]) {
    const { drafts } = await storedWhile(options);
    const text = drafts.join('');
    expect(text.length).toBeGreaterThan(10);
    expect('my key is [key] and I say more words'.startsWith(text)).toBe(true);
    for (const draft of drafts) expect(draft).toMatch(/\s$/);
  }
});

test('without either, drafts are stored as they are', async () => {
  const { drafts } = await storedWhile({});
  expect(PIECES.join('').startsWith(drafts.join(''))).toBe(true);
  expect(drafts.length).toBeGreaterThan(0);
});

test('D77: a text that cannot be redacted is not stored, and the response is recorded', async () => {
  const broken = (): string => {
    throw new Error('no');
  };
  const { drafts, log } = await storedWhile({ redactText: broken });
  expect(drafts).toEqual([]);
  expect(log).toContain('say more words');
});

test.for([{ redact }, { redact, redactText }, { redactText }])(
  'D77: an interrupted response is recorded redacted',
  async (options) => {
    const { log } = await storedWhile(options, true);
    expect(log).toContain('message/interrupted');
    expect(log).toContain('say more words');
    expect(log).not.toContain(SECRET);
  },
);
