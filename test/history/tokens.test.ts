import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type ConversationMessage, textOf } from '../../src/core/log/messages.ts';
import { curateRequest } from '../../src/history/curate-request.ts';
import { estimateTokens } from '../../src/history/estimate-tokens.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { Conversation, shapeOf } from './conversation.ts';

interface Sample {
  readonly kind: string;
  readonly name: string;
  readonly text: string;
  readonly tokens: number;
}
const samples = JSON.parse(
  readFileSync(new URL('./fixtures/token-samples.json', import.meta.url), 'utf8'),
) as readonly Sample[];

describe('estimateTokens', () => {
  test('the samples cover prose, code, JSON and Chinese', () => {
    expect([...new Set(samples.map(({ kind }) => kind))]).toEqual(['prose', 'code', 'JSON', 'Chinese']);
  });

  test.for(samples)('is within a fifth of a real tokenizer: $kind, $name', ({ text, tokens }) => {
    expect(Math.abs(estimateTokens(text) / tokens - 1)).toBeLessThanOrEqual(0.2);
  });

  test('is 0 for an empty text, a whole number, and grows with the text', () => {
    expect(estimateTokens('')).toBe(0);
    const text = samples.map((sample) => sample.text).join('\n');
    let before = 0;
    for (let length = 0; length <= text.length; length += 97) {
      const tokens = estimateTokens(text.slice(0, length));
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens).toBeGreaterThanOrEqual(before - 1); // part of a word may have more tokens than the word
      before = tokens;
    }
  });

  test.for(['<|endoftext|>', 'a'.repeat(100_000), '\ud800'.repeat(50), '\0\t\r', '🚀'.repeat(1000)])(
    'estimates texts that real tokenizers fail on (%#)',
    (text) => {
      const tokens = estimateTokens(text);
      expect(tokens).toBeGreaterThan(0);
      expect(tokens).toBeLessThanOrEqual(2 * text.length);
    },
  );
});

describe('countTokens', () => {
  test('counts text, reasoning, calls, results and media', () => {
    const [, user, asking, result] = new Conversation()
      .system('x')
      .user('hello there')
      .asks({ callId: 'a', name: 'read_file', arguments: '{"path":"src/a.ts"}' })
      .result('a', 'some text').messages as [
      ConversationMessage,
      ConversationMessage,
      ConversationMessage,
      ConversationMessage,
    ];
    expect(countTokens(user)).toBe(4 + estimateTokens('hello there'));
    expect(countTokens(asking)).toBe(8 + estimateTokens('read_file') + estimateTokens('{"path":"src/a.ts"}'));
    expect(countTokens(result)).toBe(4 + estimateTokens('some text'));
    const image = {
      ...user,
      content: [{ type: 'image', mediaType: 'image/png', data: 'aGk=' }],
    } as ConversationMessage;
    expect(countTokens(image)).toBeGreaterThan(500);
    const file = {
      ...user,
      content: [{ type: 'file', mediaType: 'application/pdf', data: 'x'.repeat(1e6) }],
    } as ConversationMessage;
    expect(countTokens(file)).toBeGreaterThan(countTokens(image));
  });

  test('an estimator that throws or returns an invalid number is replaced for that text', () => {
    const [message] = new Conversation().user('<|endoftext|> and more').messages as [ConversationMessage];
    const honest = countTokens(message);
    const wrong = [
      () => Number.NaN,
      () => -1,
      () => Number.POSITIVE_INFINITY,
      () => {
        throw new Error('special token');
      },
    ];
    for (const estimator of wrong) expect(countTokens(message, estimator)).toBe(honest);
    expect(countTokens(message, (text) => text.length)).toBe(4 + 22);
  });
});

describe('tokenBudget', () => {
  const talk = (turns: number, text = 'a result of some length, not long'): Conversation => {
    const build = new Conversation().system('Be brief.').user('hello');
    for (let i = 0; i < turns; i++) build.asks(`c${i}`).result(`c${i}`, text);
    return build;
  };
  const tokensOf = (messages: readonly ConversationMessage[]): number =>
    messages.reduce((sum, message) => sum + countTokens(message), 0);

  test('everything is sent while it fits', () => {
    const { messages } = talk(5);
    expect(tokenBudget({ max: tokensOf(messages) }).curate(messages, {}).messages).toBe(messages);
  });

  test('drops whole groups, oldest first, and at least down to the low share', () => {
    const { messages } = talk(100);
    const max = 500;
    for (const low of [0, 0.5, 1]) {
      const { messages: sent } = tokenBudget({ max, low }).curate(messages, {});
      expect(tokensOf(sent)).toBeLessThanOrEqual(max);
      expect(tokensOf(sent)).toBeGreaterThan(max * low - 40);
      expect(shapeOf(sent)).toMatch(/^system user( ask\(c\d+\) c\d+)+$/);
      expect(sent.at(-1)).toBe(messages.at(-1));
    }
  });

  test('folds rarely: most requests start with the previous one', () => {
    const build = talk(1);
    const history = tokenBudget({ max: 1000 });
    let previous: ReturnType<typeof curateRequest> | undefined;
    let breaks = 0;
    for (let i = 0; i < 300; i++) {
      build.calls(`n${i}`);
      previous = curateRequest({ history, messages: build.messages, ...(previous && { previous }) });
      if (previous.record.prefixKept < 1) breaks++;
    }
    expect(breaks).toBeGreaterThan(5);
    expect(breaks).toBeLessThan(20);
  });

  test('each message is counted once, also after another manager', () => {
    const counted = new Map<string, number>();
    const estimator = (text: string): number => {
      if (text.startsWith('unique')) counted.set(text, (counted.get(text) ?? 0) + 1);
      return text.length / 4;
    };
    for (const history of [
      tokenBudget({ max: 400, estimator }),
      compose(truncateToolResults({ maxLength: 60, suffix: '…' }), tokenBudget({ max: 400, estimator })),
    ]) {
      counted.clear();
      const build = new Conversation().system('Be brief.').user('hello');
      let previous: ReturnType<typeof curateRequest> | undefined;
      for (let i = 0; i < 50; i++) {
        build.asks(`c${i}`).result(`c${i}`, `unique ${i} ${'x'.repeat(i * 3)}`);
        previous = curateRequest({ history, messages: build.messages, ...(previous && { previous }) });
      }
      expect(counted.size).toBeGreaterThan(0);
      expect([...counted.values()].filter((times) => times > 1)).toEqual([]);
    }
  });

  test('the results of a single group larger than the budget are shortened, its pairs stay, and the same texts are sent each time', () => {
    const build = new Conversation()
      .system('Be brief.')
      .user('hello')
      .asks('a', 'b')
      .result('a', 'short')
      .result('b', 'word '.repeat(5000));
    const history = tokenBudget({ max: 1000 });
    const first = curateRequest({ history, messages: build.messages });
    expect(first.record.estimatedTokens).toBeLessThanOrEqual(1000);
    expect(shapeOf(first.messages)).toBe('system user ask(a,b) a b');
    expect(textOf(first.messages[3] as ConversationMessage)).toBe('short');
    expect(textOf(first.messages[4] as ConversationMessage)).toMatch(/^word word.*\[truncated\]$/s);
    const second = curateRequest({ history, messages: build.calls('c').messages, previous: first });
    expect(second.record.prefixKept).toBe(1);
    expect(second.record.estimatedTokens).toBeLessThanOrEqual(1000);
  });

  test('a system prompt larger than the budget is sent, and reported', () => {
    const { messages } = new Conversation().system('word '.repeat(2000)).user('hello').calls('a').calls('b');
    const { messages: sent, repairs } = curateRequest({ history: tokenBudget({ max: 100 }), messages });
    expect(shapeOf(sent)).toBe('system user ask(b) b');
    expect(repairs).toMatchObject([{ code: 'over-budget', repair: expect.stringContaining('budget of 100') }]);
  });

  test("limits by model: the caller's, otherwise the general one, otherwise the context's, otherwise none", () => {
    const { messages } = talk(100);
    const size = (
      options: Parameters<typeof tokenBudget>[0],
      limits?: { model?: string; maxTokens?: number },
    ): number => tokensOf(tokenBudget(options).curate(messages, limits ? { limits } : {}).messages);
    const models = { small: 300, large: 1000 };
    expect(size({ models, max: 600, low: 1 }, { model: 'small' })).toBeLessThanOrEqual(300);
    expect(size({ models, max: 600, low: 1 }, { model: 'large' })).toBeGreaterThan(600);
    expect(size({ models, max: 600, low: 1 }, { model: 'toString' })).toBeLessThanOrEqual(600);
    expect(size({ models }, { maxTokens: 200 })).toBeLessThanOrEqual(200);
    expect(size({ models })).toBe(tokensOf(messages));
  });

  test.for([
    { max: 0 },
    { max: -5 },
    { max: 1.5 },
    { max: 10, low: 2 },
    { max: 10, low: Number.NaN },
    { models: { m: 0 } },
  ])('%o is a typed error', (options) => {
    expect(() => tokenBudget(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
