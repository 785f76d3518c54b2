import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ConversationMessage, textOf } from '../../src/core/log/messages.ts';
import { clearToolResults } from '../../src/history/managers/clear-tool-results.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { Conversation } from './conversation.ts';

const SUFFIX = '\n... [truncated]';
const withResult = (text: string): readonly ConversationMessage[] =>
  new Conversation().system('Be brief.').user('x'.repeat(5000)).asks('a').result('a', text).messages;
const truncated = (text: string, options: Parameters<typeof truncateToolResults>[0] = {}): string =>
  textOf(truncateToolResults(options).curate(withResult(text), {}).messages.at(-1) ?? { content: [] });

describe('truncateToolResults (D34)', () => {
  test('by default to 2000 characters, including the suffix', () => {
    expect(truncated('x'.repeat(2000))).toBe('x'.repeat(2000));
    expect(truncated('x'.repeat(2001))).toBe('x'.repeat(2000 - SUFFIX.length) + SUFFIX);
  });

  test('changes only results, and none that fit', () => {
    const messages = withResult('short');
    const { messages: answer } = truncateToolResults().curate(messages, {});
    expect(answer).toEqual(messages);
    expect(answer.every((message, i) => message === messages[i])).toBe(true);
  });

  test('the record keeps the full text, and the same short message is sent each time', () => {
    const messages = withResult('x'.repeat(3000));
    const manager = truncateToolResults();
    const [one, two] = [manager.curate(messages, {}), manager.curate(messages, {})].map((it) => it.messages.at(-1));
    expect(one).toBe(two);
    expect(textOf(messages.at(-1) ?? { content: [] })).toHaveLength(3000);
  });

  test('a limit below the length of the suffix gives the suffix, which marks that text is missing', () => {
    expect(truncated('x'.repeat(100), { maxLength: 5 })).toBe(SUFFIX);
    expect(truncated('x'.repeat(100), { maxLength: 0, suffix: '…' })).toBe('…');
    expect(truncated('x'.repeat(10), { maxLength: 5 })).toBe('x'.repeat(10));
  });

  test('never lengthens a text, splits a surrogate pair, or exceeds limit or suffix', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '界', '👩', '🚀', '\n'), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.nat(40), fc.constantFrom(SUFFIX, '…', '', '🚀'), (original, maxLength, suffix) => {
        const result = truncated(original, { maxLength, suffix });
        expect(result.length).toBeLessThanOrEqual(original.length);
        expect(result.length).toBeLessThanOrEqual(Math.max(maxLength, suffix.length));
        expect(result.isWellFormed()).toBe(true);
        if (result !== original) expect(result.endsWith(suffix)).toBe(true);
      }),
    );
  });

  test('the lengths of several texts are added; media stay', () => {
    const messages = withResult('');
    const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const;
    const content = [{ type: 'text', text: 'a'.repeat(30) }, image, { type: 'text', text: 'b'.repeat(30) }] as const;
    const result = { ...messages.at(-1), content } as ConversationMessage;
    const { messages: answer } = truncateToolResults({ maxLength: 40, suffix: '…' }).curate(
      [...messages.slice(0, -1), result],
      {},
    );
    expect(answer.at(-1)?.content).toEqual([content[0], image, { type: 'text', text: `${'b'.repeat(9)}…` }]);
  });

  test('only for the given tools', () => {
    expect(truncated('x'.repeat(100), { maxLength: 20, tools: ['tool_b'] })).toHaveLength(100);
    expect(truncated('x'.repeat(100), { maxLength: 20, tools: ['tool_a'] })).toHaveLength(20);
  });

  test.for([-1, 0.5, Number.NaN])('a length of %s is a typed error', (maxLength) => {
    expect(() => truncateToolResults({ maxLength })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('clearToolResults', () => {
  const talk = (): Conversation => {
    const build = new Conversation().system('Be brief.').user('hello');
    for (const id of ['a', 'b', 'c', 'd', 'e']) build.asks(id).result(id, `${id}: a long enough result`);
    return build;
  };
  const texts = (messages: readonly ConversationMessage[]): readonly string[] =>
    messages.filter(({ role }) => role === 'tool').map((message) => textOf(message).slice(0, 2));

  test('old results become a note, the calls stay', () => {
    const { messages } = clearToolResults({ size: 2 }).curate(talk().messages, {});
    expect(texts(messages)).toEqual(['[o', '[o', '[o', 'd:', 'e:']);
    expect(messages).toHaveLength(talk().messages.length);
  });

  test('in batches, with a low mark', () => {
    const clear = clearToolResults({ size: 4, low: 1 });
    expect(texts(clear.curate(talk().messages.slice(0, -2), {}).messages)).toEqual(['a:', 'b:', 'c:', 'd:']);
    expect(texts(clear.curate(talk().messages, {}).messages)).toEqual(['[o', '[o', '[o', '[o', 'e:']);
  });

  test('the newest group keeps its results with any size; so do pinned groups', () => {
    expect(texts(clearToolResults({ size: 0 }).curate(talk().messages, {}).messages)).toEqual([
      '[o',
      '[o',
      '[o',
      '[o',
      'e:',
    ]);
    const { messages } = compose(pin({ tools: ['tool_b'] }), clearToolResults({ size: 0 })).curate(talk().messages, {});
    expect(texts(messages)).toEqual(['[o', 'b:', '[o', '[o', 'e:']);
  });

  test('a result that is shorter than the note stays; the note and the tools are options', () => {
    const build = new Conversation().user('x').asks('a').result('a', 'ok').calls('b').calls('c');
    expect(texts(clearToolResults({ size: 0 }).curate(build.messages, {}).messages)).toEqual(['ok', 're', 're']);
    const { messages } = clearToolResults({ size: 0, note: '-', tools: ['tool_b'] }).curate(build.messages, {});
    expect(texts(messages)).toEqual(['ok', '-', 're']);
  });

  test('counts the result of the previous manager', () => {
    const { messages } = compose(slidingWindow({ size: 3 }), clearToolResults({ size: 2 })).curate(talk().messages, {});
    expect(texts(messages)).toEqual(['[o', 'd:', 'e:']);
  });

  test.for([{ size: -1 }, { size: 0.5 }, { size: 2, low: 3 }])('%o is a typed error', (options) => {
    expect(() => clearToolResults(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
