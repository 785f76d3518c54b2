import { describe, expect, test } from 'vitest';
import { type ConversationMessage, textOf } from '../../src/core/log/messages.ts';
import { curateRequest } from '../../src/history/curate-request.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { keepImportant } from '../../src/history/managers/keep-important.ts';
import { observe } from '../../src/history/managers/observe.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { Conversation, shapeOf } from './conversation.ts';

const talk = (...ids: readonly string[]): Conversation => {
  const build = new Conversation().system('Be brief.').user('hello');
  for (const id of ids) build.calls(id);
  return build;
};

describe('passthrough', () => {
  test('returns the messages unchanged', () => {
    const { messages } = talk('a', 'b');
    expect(passthrough().curate(messages, {}).messages).toBe(messages);
    expect(passthrough().curate([], {}).messages).toEqual([]);
  });
});

describe('keepImportant', () => {
  const score = (group: readonly ConversationMessage[]): number =>
    textOf(group.at(-1) ?? { content: [] }).includes('!') ? 1 : 0;
  const build = (): Conversation => {
    const conversation = new Conversation().system('Be brief.').user('hello');
    for (const id of ['a', 'b!', 'c', 'd', 'e!', 'f', 'g']) conversation.calls(id);
    return conversation;
  };

  test('keeps the groups with the highest scores at any age; of equal ones the newer', () => {
    const { messages } = keepImportant({ size: 3, score }).curate(build().messages, {});
    expect(shapeOf(messages)).toBe('system user ask(b!) b! ask(e!) e! ask(f) f ask(g) g');
  });

  test('drops in batches with a low mark', () => {
    const { messages } = keepImportant({ size: 5, low: 2, score }).curate(build().messages, {});
    expect(shapeOf(messages)).toBe('system user ask(b!) b! ask(e!) e! ask(g) g');
  });

  test('computes each score once', () => {
    const asked: string[] = [];
    const history = keepImportant({
      size: 2,
      score: ([first]) => {
        asked.push(first?.id ?? '');
        return 0;
      },
    });
    const conversation = build();
    let previous: ReturnType<typeof curateRequest> | undefined;
    for (let i = 0; i < 20; i++) {
      previous = curateRequest({
        history,
        messages: conversation.calls(`n${i}`).messages,
        ...(previous && { previous }),
      });
    }
    expect(asked).toHaveLength(new Set(asked).size);
    expect(asked.length).toBeGreaterThan(20);
  });

  test.for<[string, () => unknown]>([
    ['NaN', () => Number.NaN],
    ['undefined', () => undefined],
    ['"1"', () => '1'],
    ['an object or a promise', () => Promise.reject(new Error('late'))],
  ])('a score that is %s is a typed error that says what to return', ([returned, value]) => {
    const history = keepImportant({ size: 1, score: value as () => number });
    const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(`score returned ${returned} for`) };
    expect(() => history.curate(build().messages, {})).toThrow(expect.objectContaining(refused));
  });

  test('infinite scores are numbers: the highest and the lowest', () => {
    const infinite = (group: Parameters<typeof score>[0]) => (score(group) > 0 ? Infinity : -Infinity);
    const history = keepImportant({ size: 2, score: infinite });
    expect(shapeOf(history.curate(build().messages, {}).messages)).toBe('system user ask(b!) b! ask(e!) e! ask(g) g');
  });

  test.for([{ size: -1 }, { size: 1, low: 2 }])('%o is a typed error', (options) => {
    expect(() => keepImportant({ ...options, score })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('pin', () => {
  test('keeps messages, tools and the newest messages, whatever later managers drop', () => {
    const { messages } = talk('a', 'b', 'c', 'd', 'e');
    const sent = (what: Parameters<typeof pin>[0]): string =>
      shapeOf(compose(pin(what), slidingWindow({ size: 1 })).curate(messages, {}).messages);
    expect(sent({})).toBe('system user ask(e) e');
    expect(sent({ tools: ['tool_b'] })).toBe('system user ask(b) b ask(e) e');
    expect(sent({ messages: [messages[3]?.id ?? ''] })).toBe('system user ask(a) a ask(e) e');
    expect(sent({ last: 3 })).toBe('system user ask(d) d ask(e) e');
  });

  test('works with every manager that drops', () => {
    const { messages } = talk('a', 'b', 'c', 'd', 'e');
    const droppers = [slidingWindow({ size: 0 }), tokenBudget({ max: 60 }), keepImportant({ size: 0, score: () => 0 })];
    for (const dropper of droppers) {
      const { messages: sent } = compose(pin({ tools: ['tool_a'] }), dropper, slidingWindow({ size: 0 })).curate(
        messages,
        {},
      );
      expect(shapeOf(sent)).toBe('system user ask(a) a ask(e) e');
    }
  });

  test('two pins combine, and both hold after a nested composition', () => {
    const { messages } = talk('a', 'b', 'c', 'd');
    const pins = compose(pin({ tools: ['tool_a'] }), pin({ tools: ['tool_b'], last: 1 }));
    expect(shapeOf(compose(pins, slidingWindow({ size: 0 })).curate(messages, {}).messages)).toBe(
      'system user ask(a) a ask(b) b ask(d) d',
    );
  });

  test('a fractional number of messages is a typed error', () => {
    expect(() => pin({ last: 0.5 })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('compose', () => {
  test('applies each manager to the result of the previous one', () => {
    const build = talk('a', 'b').asks('c').result('c', 'x'.repeat(100));
    const history = compose(truncateToolResults({ maxLength: 20, suffix: '…' }), slidingWindow({ size: 1 }));
    const { messages } = history.curate(build.messages, {});
    expect(shapeOf(messages)).toBe('system user ask(c) c');
    expect(textOf(messages.at(-1) ?? { content: [] })).toBe(`${'x'.repeat(19)}…`);
    expect(history.name).toBe('truncate-tool-results(20) + sliding-window(1)');
  });

  test('of nothing changes nothing; of a composition is flat', () => {
    const { messages } = talk('a', 'b');
    expect(compose().curate(messages, {}).messages).toBe(messages);
    const nested = compose(compose(slidingWindow({ size: 2 })), compose(), slidingWindow({ size: 1 }));
    expect(shapeOf(nested.curate(messages, {}).messages)).toBe('system user ask(b) b');
  });

  test('accepts functions and custom managers', () => {
    const { messages } = talk('a', 'b', 'c');
    const mine = { name: 'mine', curate: (given: readonly ConversationMessage[]) => ({ messages: given.slice(0, 4) }) };
    const history = compose((given) => given.toSpliced(2, 2), mine, slidingWindow({ size: 9 }));
    expect(shapeOf(history.curate(messages, {}).messages)).toBe('system user ask(b) b');
  });
});

describe('observe (D33)', () => {
  test('reports what was done and changes nothing', () => {
    const seen: unknown[] = [];
    const { messages } = talk('a', 'b', 'c');
    const watched = observe(slidingWindow({ size: 1 }), (curation) => seen.push(curation));
    expect(watched.curate(messages, {}).messages).toEqual(slidingWindow({ size: 1 }).curate(messages, {}).messages);
    expect(seen).toEqual([
      { promptName: 'test/history', strategy: 'sliding-window(1)', originalCount: 8, curatedCount: 4 },
    ]);
  });

  test('inside a composition it sees its own part; an error of a listener is ignored', () => {
    const counts: (readonly [number, number])[] = [];
    const history = compose(
      slidingWindow({ size: 2 }),
      observe(
        (given) => given.slice(0, -2),
        ({ originalCount, curatedCount }) => {
          counts.push([originalCount, curatedCount]);
          throw new Error('not your problem');
        },
      ),
    );
    const { messages } = talk('a', 'b', 'c');
    expect(shapeOf(history.curate(messages, {}).messages)).toBe('system user ask(b) b');
    expect(counts).toEqual([[6, 4]]);
  });
});

describe('summarize (D56)', () => {
  const made = new Map<string, string>();
  const summaries = (key: string): string | undefined => made.get(key);

  test('requests a summary of the oldest groups, once, and sends it in their place', () => {
    made.clear();
    const history = summarize({ size: 4, low: 2 });
    const { messages } = talk('a', 'b', 'c', 'd', 'e');
    const asked = curateRequest({ history, messages, context: { summaries } });
    expect(shapeOf(asked.messages)).toBe(shapeOf(messages));
    const [request] = asked.needs;
    expect(request).toMatchObject({ from: messages[2]?.id, to: messages[5]?.id });
    expect(shapeOf(request?.messages ?? [])).toBe('ask(a) a ask(b) b');
    made.set(request?.key ?? '', 'a and b were done');
    const again = curateRequest({ history, messages, context: { summaries } });
    expect(again.needs).toEqual([]);
    expect(shapeOf(again.messages)).toBe('system user (user) ask(c) c ask(d) d ask(e) e');
    expect(textOf(again.messages[2] as ConversationMessage)).toContain('a and b were done');
    expect(again.messages[2]).toMatchObject({ synthetic: true, role: 'user' });
    const later = curateRequest({ history, messages, context: { summaries }, previous: again });
    expect(later.messages[2]).toBe(again.messages[2]);
  });

  test('the next summary is based on the last one and the messages since, not on everything', () => {
    made.clear();
    const history = summarize({ size: 3, low: 1, instructions: 'Shorten.', maxTokens: 100 });
    const build = talk();
    const read: string[] = [];
    let previous: ReturnType<typeof curateRequest> | undefined;
    for (let i = 0; i < 12; i++) {
      const options = {
        history,
        messages: build.calls(`c${i}`).messages,
        context: { summaries },
        ...(previous && { previous }),
      };
      for (const { key, messages, instructions, maxTokens } of curateRequest(options).needs) {
        expect({ instructions, maxTokens }).toEqual({ instructions: 'Shorten.', maxTokens: 100 });
        read.push(shapeOf(messages));
        made.set(key, `summary ${made.size}`);
      }
      previous = curateRequest(options);
      expect(previous.needs).toEqual([]);
    }
    expect(read.slice(0, 2)).toEqual(['ask(c0) c0 ask(c1) c1', '(user) ask(c2) c2 ask(c3) c3 ask(c4) c4']);
    expect(shapeOf(previous?.messages ?? [])).toBe('system user (user) ask(c11) c11');
  });

  test('without a summary the request uses the previous one and the groups since', () => {
    made.clear();
    const history = summarize({ size: 3, low: 1 });
    const build = talk('a', 'b', 'c', 'd');
    const [first] = curateRequest({ history, messages: build.messages, context: { summaries } }).needs;
    made.set(first?.key ?? '', 'the beginning');
    const { messages, needs } = curateRequest({
      history,
      messages: build.calls('e').calls('f').messages,
      context: { summaries },
    });
    expect(shapeOf(messages)).toBe('system user (user) ask(c) c ask(d) d ask(e) e ask(f) f');
    expect(needs).toHaveLength(1);
  });

  test('the same range with other instructions is another summary', () => {
    const { messages } = talk('a', 'b', 'c', 'd', 'e');
    const key = (options: Parameters<typeof summarize>[0]): string | undefined =>
      summarize(options).curate(messages, {}).needs?.[0]?.key;
    expect(key({ size: 3 })).toBe(key({ size: 3 }));
    expect(key({ size: 3 })).not.toBe(key({ size: 3, instructions: 'In French.' }));
  });

  test('with ahead, requests the summary of the next fold before the window is full, and the fold then needs none', () => {
    made.clear();
    const [history, late] = [summarize({ size: 5, low: 3, ahead: 2 }), summarize({ size: 5, low: 3 })];
    const build = talk();
    const wanted: string[] = [];
    for (let i = 0; i < 12; i++) {
      const { messages } = build.calls(`c${i}`);
      const { needs, ahead } = curateRequest({ history, messages, context: { summaries } });
      const expected = curateRequest({ history: late, messages, context: { summaries } });
      expect(needs).toEqual([]);
      expect(expected.needs).toEqual([]);
      for (const request of ahead) {
        const groups = messages.filter(({ role }) => role !== 'tool' && role !== 'system').length;
        wanted.push(`at ${groups}: ${shapeOf(request.messages)}`);
        made.set(request.key, `summary ${made.size}`);
      }
      expect(curateRequest({ history, messages, context: { summaries } })).toMatchObject({
        messages: expected.messages,
        ahead: [],
      });
    }
    expect(wanted).toEqual([
      'at 4: ask(c0) c0 ask(c1) c1',
      'at 7: (user) ask(c2) c2 ask(c3) c3 ask(c4) c4',
      'at 10: (user) ask(c5) c5 ask(c6) c6 ask(c7) c7',
      'at 13: (user) ask(c8) c8 ask(c9) c9 ask(c10) c10',
    ]);
  });

  test('the request of a fold and the one made ahead are the same except `ahead`', () => {
    made.clear();
    const { messages } = talk('a', 'b', 'c', 'd');
    const [early] = curateRequest({ history: summarize({ size: 5, low: 3, ahead: 1 }), messages }).ahead;
    const [late] = curateRequest({
      history: summarize({ size: 5, low: 3 }),
      messages: talk('a', 'b', 'c', 'd', 'e').messages,
    }).needs;
    expect(early).toEqual({ ...late, ahead: true });
  });

  test('requests nothing ahead for groups that may still get results', () => {
    const history = summarize({ size: 5, low: 4, ahead: 3 });
    const { messages } = talk().asks('a', 'b').result('a').user('and?');
    expect(curateRequest({ history, messages }).ahead).toEqual([]);
    expect(curateRequest({ history, messages: talk('a').user('and?').messages }).ahead).toHaveLength(1);
  });

  test('while the summary of a fold is missing, requests no other ahead', () => {
    made.clear();
    const { messages } = talk('a', 'b', 'c', 'd', 'e', 'f');
    const history = summarize({ size: 5, low: 4, ahead: 3 });
    const { needs, ahead } = curateRequest({ history, messages, context: { summaries } });
    expect(needs).toHaveLength(1);
    expect(ahead).toEqual([]);
  });

  test('managers after it keep the summary', () => {
    made.clear();
    const history = compose(summarize({ size: 3, low: 2 }), slidingWindow({ size: 1 }));
    const { messages } = talk('a', 'b', 'c', 'd');
    const everything = (key: string): string => `about ${key}`;
    expect(shapeOf(history.curate(messages, { summaries: everything }).messages)).toBe('system user (user) ask(d) d');
  });

  test.for([
    { size: 0 },
    { size: 2, low: 0 },
    { size: 2, low: 3 },
    { size: 2, maxTokens: 0 },
    { size: 4, ahead: -1 },
    { size: 4, ahead: 0.5 },
    { size: 4, low: 2, ahead: 2 },
  ])('%o is a typed error', (options) => {
    expect(() => summarize(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
