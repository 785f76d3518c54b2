import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { HoldfastError } from '../../src/core/errors.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { Store } from '../../src/ports/store.ts';
import { appendForLoop } from '../../src/session/append/append-for-loop.ts';
import type { AnySession } from '../../src/session/session.ts';
import type { Draft } from '../core/log.ts';

/** A session's log as the store has it. */
export async function logIn(store: Store, sessionId = 's1'): Promise<SessionEvent[]> {
  return collect(store.read(sessionId));
}

/** All values of an iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Expects all events in order, without a gap. */
export function expectGapless(log: readonly SessionEvent[]): void {
  expect(log.map((event) => event.seq)).toEqual(log.map((_, i) => i + 1));
}

/** The error that a promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<HoldfastError> {
  try {
    await promise;
  } catch (error) {
    return error as HoldfastError;
  }
  throw new Error('it was not rejected');
}

/** Waits for a condition, for a limited number of turns of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 20_000) throw new Error('it never came true');
    await setImmediate();
  }
}

/** Appends an event of a generated log; only the session may mark one as dispatched by a failed tool. */
export function appendDraft(session: AnySession, draft: Draft): Promise<unknown> {
  const { discarded, ...event } = draft as { readonly type: string; readonly discarded?: true };
  return appendForLoop(session, [event], { discarded: discarded ? 1 : 0 });
}
