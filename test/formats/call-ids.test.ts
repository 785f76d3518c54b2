import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NINE_CHARACTERS, plainNames, SentCallIds, SHORT_IDS, safeIds, sentName } from '../../src/formats/call-ids.ts';

const RULES = { safe: safeIds(40), nine: NINE_CHARACTERS, short: SHORT_IDS };
const calls = (ids: readonly string[]) => ids.map((callId) => ({ callId, name: 'read', arguments: '{}' }));
const id = fc.oneof(fc.constantFrom('', 'a', 'a_2', 'abcdefghi', 'functions.read:0'), fc.string({ maxLength: 60 }));
const turns = fc.array(fc.uniqueArray(id, { maxLength: 4 }), { maxLength: 6 });

describe.for(Object.keys(RULES) as (keyof typeof RULES)[])('ids by the rule %s', (name) => {
  const rule = RULES[name];

  test("are valid, unique within a request, and results get their call's (D11)", () => {
    fc.assert(
      fc.property(turns, (conversation) => {
        const sent = new SentCallIds(rule);
        const all: string[] = [];
        for (const turn of conversation) {
          const ids = sent.open(calls(turn));
          expect(turn.map((callId) => sent.resultOf(callId))).toEqual(ids);
          all.push(...ids);
        }
        expect(new Set(all).size).toBe(all.length);
        expect(all.every(rule.fits)).toBe(true);
      }),
    );
  });

  test('of a longer conversation start with those of the shorter one', () => {
    fc.assert(
      fc.property(turns, fc.nat(6), (conversation, length) => {
        const idsOf = (some: typeof conversation) => {
          const sent = new SentCallIds(rule);
          return some.map((turn) => sent.open(calls(turn)));
        };
        expect(idsOf(conversation).slice(0, length)).toEqual(idsOf(conversation.slice(0, length)));
      }),
    );
  });
});

test('a valid id does not change', () => {
  expect(new SentCallIds(safeIds(64)).open(calls(['toolu_01', 'call_1']))).toEqual(['toolu_01', 'call_1']);
  expect(new SentCallIds(SHORT_IDS).open(calls(['functions.read:0']))).toEqual(['functions.read:0']);
});

test('a name that a provider would reject becomes a valid one', () => {
  const names = plainNames(64);
  expect(sentName('read_file', names)).toBe('read_file');
  expect(sentName('functions.read file', names)).toBe('functions_read_file');
  expect(sentName('functions.read', { ...names, notAllowed: /[^a-zA-Z0-9_.:-]/g })).toBe('functions.read');
  expect(sentName('', names)).toBe('unknown');
  expect(sentName('x'.repeat(80), names)).toHaveLength(64);
});
