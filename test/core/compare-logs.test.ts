import fc from 'fast-check';
import { expect, test } from 'vitest';
import { alignLogs, ComparedLog, isSameEvent, type LogComparison } from '../../src/core/views/compare-logs.ts';
import { answer, logOf, messageOf, recorded, result, user } from './log.ts';

const logWith = (...texts: readonly string[]): ComparedLog => {
  const log = new ComparedLog();
  const said = texts.map((text, i) =>
    recorded(messageOf(i % 2 === 0 ? 'user' : 'assistant', text, i, { turn: i % 2 })),
  );
  for (const event of logOf(...said)) log.push(event);
  return log;
};
const texts = ({ rows }: LogComparison): readonly unknown[] =>
  rows.map(({ left, right, isSame }) => [left?.text ?? null, right?.text ?? null, isSame]);

test('equal messages stand beside each other, and different ones of the same role', () => {
  const compared = alignLogs(logWith('a', 'x', 'b', 'y', 'c'), logWith('a', 'z', 'b', 'y'), 3);
  expect(compared.sharedSeq).toBe(3);
  expect(texts(compared)).toEqual([
    ['a', 'a', true],
    ['x', 'z', false],
    ['b', 'b', true],
    ['y', 'y', true],
    ['c', null, false],
  ]);
});

test('calls and results are part of what is compared, system messages and child conversations are not', () => {
  const log = new ComparedLog();
  const other = messageOf('user', 'child', 9, { conversationId: 'child' });
  for (const event of logOf(
    user('hi', 0),
    recorded(messageOf('system', 's', 1)),
    answer(2, ['a']),
    result(3, 'a'),
    recorded(other),
  )) {
    log.push(event);
  }
  expect(log.messages.map(({ role, calls, toolName }) => [role, calls?.[0]?.name, toolName])).toEqual([
    ['user', undefined, undefined],
    ['assistant', 'write', undefined],
    ['tool', undefined, 'write'],
  ]);
});

test('every message of both logs is in one row, in order, and equal rows are equal (property)', () => {
  const said = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
  fc.assert(
    fc.property(said, said, (left, right) => {
      const { rows } = alignLogs(logWith(...left), logWith(...right), 0);
      expect(rows.flatMap((row) => row.left?.text ?? [])).toEqual(left);
      expect(rows.flatMap((row) => row.right?.text ?? [])).toEqual(right);
      for (const row of rows) if (row.isSame) expect(row.left?.text).toBe(row.right?.text);
      if (left.join() === right.join()) expect(rows.every(({ isSame }) => isSame)).toBe(true);
    }),
  );
});

test('more messages than are aligned are counted', () => {
  const many = Array.from({ length: 520 }, (_, i) => `${i}`);
  expect(alignLogs(logWith(...many), logWith('0'), 0).omitted).toEqual({ left: 20, right: 0 });
});

test('events are the same only with the same position, time and content', () => {
  const [event] = logOf(user('hi', 0));
  if (!event) throw new Error('there is no event');
  expect(isSameEvent(event, JSON.parse(JSON.stringify(event)))).toBe(true);
  expect(isSameEvent(event, { ...event, at: 'later' })).toBe(false);
  expect(isSameEvent(event, { ...event, seq: 2 })).toBe(false);
});
