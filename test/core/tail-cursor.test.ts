import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatTailCursor, parseTailCursor, type TailCursor } from '../../src/core/log/tail-cursor.ts';

const count = (min: number): fc.Arbitrary<number> => fc.integer({ min, max: Number.MAX_SAFE_INTEGER });
const cursors: fc.Arbitrary<TailCursor> = fc.record(
  { incarnation: count(1), seq: count(0), position: fc.record({ fence: count(0), n: count(1) }) },
  { requiredKeys: ['incarnation', 'seq'] },
);

describe('D74: the cursor of a tail', () => {
  test.for<readonly [string, TailCursor]>([
    ['0', { incarnation: 1, seq: 0 }],
    ['12', { incarnation: 1, seq: 12 }],
    ['12.3.45', { incarnation: 1, seq: 12, position: { fence: 3, n: 45 } }],
    ['2:0', { incarnation: 2, seq: 0 }],
    ['7:12.0.1', { incarnation: 7, seq: 12, position: { fence: 0, n: 1 } }],
  ])('%s is parsed to its position', ([text, cursor]) => {
    expect(parseTailCursor(text)).toEqual(cursor);
    expect(formatTailCursor(cursor)).toBe(text);
  });

  test('any position is the same after formatting and parsing', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(parseTailCursor(formatTailCursor(cursor))).toEqual(cursor);
      }),
    );
  });

  test.for([
    '',
    ' 1',
    '1 ',
    '-1',
    '01',
    '1.2',
    '1.2.3.4',
    '1.2.0',
    '1.-2.3',
    '0:1',
    ':1',
    '1:',
    '1e3',
    '0x10',
    '١',
    '9007199254740993',
    '1.9007199254740993.1',
    'latest',
    `1\n`,
  ])('%j is INVALID_ARGUMENT', (text) => {
    expect(() => parseTailCursor(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test.for([undefined, null, 12, {}, ['1']])('%j, which is not a text, is INVALID_ARGUMENT', (value) => {
    expect(() => parseTailCursor(value as string)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('any other text throws INVALID_ARGUMENT and nothing else', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(formatTailCursor(parseTailCursor(text)).replace(/^1:/, '')).toBe(text.replace(/^1:/, ''));
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
        }
      }),
    );
  });
});
