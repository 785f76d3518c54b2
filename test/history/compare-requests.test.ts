import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { compareRequests } from '../../src/history/inspect/compare-requests.ts';
import { requestRows, requestTokens } from '../../src/history/inspect/request-rows.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { messageOf } from '../core/log.ts';

const request = fc
  .array(fc.tuple(fc.constantFrom('user' as const, 'assistant' as const), fc.string({ maxLength: 30 })), {
    maxLength: 8,
  })
  .map((said): readonly ConversationMessage[] => said.map(([role, text], i) => messageOf(role, text, i)));
const tokensOf = (messages: readonly ConversationMessage[]): number =>
  messages.reduce((sum, message) => sum + countTokens(message), 0);

test('a request that starts with the one before has no difference, and any other names the first one (property)', () => {
  fc.assert(
    fc.property(request, request, (before, now) => {
      expect(compareRequests(before, [...before, ...now])).toMatchObject({
        stability: 1,
        sharedTokens: tokensOf(before),
      });
      const { difference, stability, sharedTokens, previousTokens } = compareRequests(before, now);
      expect(previousTokens).toBe(tokensOf(before));
      if (!difference) expect(sharedTokens).toBe(previousTokens);
      else {
        expect(sharedTokens).toBe(tokensOf(before.slice(0, difference.index)));
        expect(stability).toBeLessThan(1);
        expect(now.slice(0, difference.index)).toMatchObject(
          before.slice(0, difference.index).map(({ content }) => ({ content })),
        );
      }
    }),
  );
});

test('rows of any selection of a conversation hold both, and their tokens add up (property)', () => {
  fc.assert(
    fc.property(request, fc.infiniteStream(fc.boolean()), (recorded, keep) => {
      const sent = recorded.filter(() => keep.next().value);
      const rows = requestRows(recorded, sent);
      expect(rows.map((row) => row.recorded)).toEqual(recorded);
      expect(rows.filter(({ fate }) => fate === 'whole').map((row) => row.recorded)).toEqual(sent);
      const { total, leftOut } = requestTokens(rows);
      expect(total).toBe(tokensOf(sent));
      expect(total + leftOut).toBe(tokensOf(recorded));
    }),
  );
});

test('an altered message is shown around its first difference', () => {
  const long = 'same '.repeat(100);
  const before = [messageOf('system', 'S', 0), messageOf('user', `${long}old end`, 1)];
  const now = [messageOf('system', 'S', 0), messageOf('user', `${long}new end`, 1)];
  const { difference } = compareRequests(before, now);
  expect(difference).toMatchObject({ region: 'message', index: 1, change: 'altered' });
  expect(difference?.before?.excerpt).toMatch(/^….*old end$/);
  expect(difference?.now?.excerpt).toMatch(/^….*new end$/);
  expect(compareRequests(before, [messageOf('system', 'T', 0)]).difference).toMatchObject({
    region: 'system',
    index: 0,
  });
});
