import { expect, test } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { type Upcaster, upcast } from '../../src/core/log/upcast.ts';

const event = { seq: 7, at: 'then', type: 'step/added' as string, what: 'x' } as SessionEvent;
const rename =
  (type: string): Upcaster =>
  (old) => ({ ...old, type, seq: 99, at: 'now' });

test('an event without an upcaster is the same object', () => {
  expect(upcast(event)).toBe(event);
  expect(upcast(event, { 'other/type': rename('x/y') })).toBe(event);
  expect(upcast(event, { 'step/added': (old) => old })).toBe(event);
});

test('a translated event keeps its seq and time, whatever its upcaster returns', () => {
  expect(upcast(event, { 'step/added': rename('plan/added') })).toEqual({ ...event, type: 'plan/added' });
});

test('upcasters chain, and a cycle of them ends', () => {
  expect(upcast(event, { 'step/added': rename('b/b'), 'b/b': rename('c/c') }).type).toBe('c/c');
  expect(['step/added', 'b/b']).toContain(
    upcast(event, { 'step/added': rename('b/b'), 'b/b': rename('step/added') }).type,
  );
});

test('an upcaster that keeps the type is called once', () => {
  const up: Upcaster = (old) => ({ ...old, times: (((old as { times?: number }).times as number) ?? 0) + 1 });
  expect(upcast(event, { 'step/added': up })).toMatchObject({ times: 1 });
});

test.for<readonly [string, Upcaster]>([
  [
    'throws',
    () => {
      throw new Error('cannot');
    },
  ],
  ['gives nothing', () => undefined as unknown as SessionEvent],
  ['gives an event without a type', () => ({}) as SessionEvent],
])('I10: an upcaster that %s causes a typed error that names the event', ([, up]) => {
  expect(() => upcast(event, { 'step/added': up })).toThrow(
    expect.objectContaining({ code: 'EVENT_INVALID', message: expect.stringContaining('event 7') }),
  );
});

test('a type named like a member of Object has no upcaster', () => {
  const strange = { ...event, type: 'constructor' as string } as SessionEvent;
  expect(upcast(strange, {})).toBe(strange);
});
