import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { type CuratedRequest, curateRequest } from '../../src/history/curate-request.ts';
import type { BuiltInManager, Curation } from '../../src/history/history-manager.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { conversation, manager, summaries } from './arbitraries.ts';
import { groupsOf, shapeOf } from './conversation.ts';

const runs = { numRuns: 300 };

/** The prefixes of a conversation that a loop would have sent: before each response, and all of it. */
function requestPoints(messages: readonly ConversationMessage[]): readonly number[] {
  return [...messages.keys()].filter((i) => i > 0 && messages[i]?.role === 'assistant').concat(messages.length);
}

describe('every request (I4, D31, D32)', () => {
  test('is coherent in both directions against the record, with any managers', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const { messages, needs } = curateRequest({ history: make(), messages: original, context: { summaries } });
        expect(checkCoherence(messages, { original }).violations).toEqual([]);
        expect(needs).toEqual([]);
      }),
      runs,
    );
  });

  test('keeps the leading system messages, the first and the newest user message and the newest group', () => {
    fc.assert(
      fc.property(conversation({ steered: false }), manager, (original, { make }) => {
        const { messages } = curateRequest({ history: make(), messages: original, context: { summaries } });
        const ids = new Set(messages.map(({ id }) => id));
        const leading = original.slice(
          0,
          original.findIndex(({ role }) => role !== 'system'),
        );
        const users = original.filter(({ role }) => role === 'user');
        const kept = [...leading, users[0], users.at(-1), ...(groupsOf(original).at(-1) ?? [])];
        expect(kept.filter((message) => message && !ids.has(message.id))).toEqual([]);
      }),
      runs,
    );
  });

  test('keeps the message that started the evaluation, whatever user messages joined it since (D61)', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const { messages } = curateRequest({ history: make(), messages: original, context: { summaries } });
        const users = original.filter(({ role }) => role === 'user');
        const began = users.find(({ evaluationId }) => evaluationId === users.at(-1)?.evaluationId);
        expect(messages.map(({ id }) => id)).toContain(began?.id);
      }),
      runs,
    );
  });

  test('does not change the record (I5)', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const before = JSON.stringify(original);
        curateRequest({ history: make(), messages: original, context: { summaries } });
        make().curate(original, { summaries });
        expect(JSON.stringify(original)).toBe(before);
      }),
      runs,
    );
  });

  test('is the same turn by turn, from the whole log, and from a log that was read again (D35)', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const history = make();
        let previous: CuratedRequest | undefined;
        const grown: ConversationMessage[] = [];
        for (const point of requestPoints(original)) {
          grown.push(...original.slice(grown.length, point));
          const options = { messages: grown, context: { summaries } };
          const next = curateRequest({ ...options, history, ...(previous && { previous }) });
          const reread = JSON.parse(JSON.stringify(grown)) as readonly ConversationMessage[];
          const resumed = curateRequest({ ...options, messages: reread, history: make() });
          expect(resumed.messages).toEqual(next.messages);
          expect(resumed.repairs).toEqual(next.repairs);
          expect(resumed.record).toEqual({ ...next.record, prefixKept: resumed.record.prefixKept });
          previous = next;
        }
      }),
      runs,
    );
  });

  test('reports the same share of the previous request, with and without a cache', () => {
    fc.assert(
      fc.property(conversation({ pending: false }), manager, (original, { make }) => {
        const history = make();
        let previous: CuratedRequest | undefined;
        for (const point of requestPoints(original)) {
          const messages = original.slice(0, point);
          const next = curateRequest({ history, messages, context: { summaries }, ...(previous && { previous }) });
          const resumed = curateRequest({ history: make(), messages, context: { summaries } });
          expect(resumed.record).toEqual(next.record);
          previous = next;
        }
      }),
      runs,
    );
  });
});

test('a request that is cut to any limit is coherent, and has the required messages (D31, D61)', () => {
  fc.assert(
    fc.property(conversation(), manager, fc.integer({ min: 1, max: 2000 }), (original, { make }, maxTokens) => {
      const whole = curateRequest({ history: make(), messages: original, context: { summaries } });
      const cut = curateRequest({ history: make(), messages: original, context: { summaries, limits: { maxTokens } } });
      const ids = cut.messages.map(({ id }) => id);
      const users = original.filter(({ role }) => role === 'user');
      const began = users.find(({ evaluationId }) => evaluationId === users.at(-1)?.evaluationId);
      expect(checkCoherence(cut.messages, { original }).violations).toEqual([]);
      expect(ids).toEqual(expect.arrayContaining([users[0]?.id, began?.id, users.at(-1)?.id]));
      expect(cut.record.estimatedTokens).toBeLessThanOrEqual(whole.record.estimatedTokens);
    }),
    runs,
  );
});

describe('every single manager', () => {
  test('returns the same with and without its previous result', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const history = make();
        let previous: Curation | undefined;
        for (const point of requestPoints(original)) {
          const messages = original.slice(0, point);
          previous = history.curate(messages, { summaries, ...(previous && { previous }) });
          const { memo: _, ...answer } = previous;
          const { memo: __, ...alone } = make().curate(messages, { summaries });
          expect(answer).toEqual(alone);
        }
      }),
      runs,
    );
  });

  test('can continue from an older result after a newer one, as two branches of one conversation', () => {
    fc.assert(
      fc.property(conversation(), conversation({ maxEvaluations: 1 }), manager, (trunk, other, { make }) => {
        const history = make();
        const branch = [...trunk, ...other.map((message) => ({ ...message, id: `b-${message.id}` }))];
        const half = trunk.slice(0, trunk.length >> 1);
        const start = history.curate(half, { summaries });
        const [one, two] = [trunk, branch].map((messages) => history.curate(messages, { summaries, previous: start }));
        expect(one?.messages).toEqual(make().curate(trunk, { summaries }).messages);
        expect(two?.messages).toEqual(make().curate(branch, { summaries }).messages);
        expect(history.curate(half, { summaries, ...(two && { previous: two }) }).messages).toEqual(start.messages);
      }),
      runs,
    );
  });

  test('breaks no complete pair: unpaired calls were unpaired in the record', () => {
    fc.assert(
      fc.property(conversation(), manager, (original, { make }) => {
        const problems = (messages: readonly ConversationMessage[]): readonly string[] =>
          checkCoherence(messages).violations.map(
            ({ code, callId, index }) => `${code} ${messages[index]?.id} ${callId}`,
          );
        const before = new Set(problems(original));
        expect(problems(make().curate(original, { summaries }).messages).filter((one) => !before.has(one))).toEqual([]);
      }),
      runs,
    );
  });
});

test('a composition applies each manager to the result of the previous one', () => {
  const chain = fc.tuple(manager, manager, manager);
  fc.assert(
    fc.property(conversation({ steered: false, pending: false }), chain, (original, parts) => {
      const apply = (messages: readonly ConversationMessage[], one: BuiltInManager): readonly ConversationMessage[] =>
        one.curate(messages, { summaries }).messages;
      // A pin affects the managers after it, so it has no effect alone.
      fc.pre(parts.every(({ name }) => !name.includes('pin')));
      const expected = parts.map(({ make }) => make()).reduce(apply, original);
      expect(shapeOf(compose(...parts.map(({ make }) => make())).curate(original, { summaries }).messages)).toEqual(
        shapeOf(expected),
      );
    }),
    runs,
  );
});

describe('tokenBudget', () => {
  test('is within the budget whenever the required messages are', () => {
    fc.assert(
      fc.property(conversation({ steered: false }), fc.integer({ min: 10, max: 4000 }), (original, max) => {
        const sum = (messages: readonly ConversationMessage[]): number =>
          messages.reduce((total, message) => total + countTokens(message), 0);
        const { messages, record, repairs } = curateRequest({ history: tokenBudget({ max }), messages: original });
        expect(record.estimatedTokens).toBe(sum(messages));
        const least = curateRequest({ history: slidingWindow({ size: 0 }), messages: original });
        if (sum(least.messages) <= max) expect(record.estimatedTokens).toBeLessThanOrEqual(max);
        if (record.estimatedTokens > max) expect(repairs.map(({ code }) => code)).toContain('over-budget');
      }),
      runs,
    );
  });
});
