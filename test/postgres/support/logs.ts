import type { NewEvent, SessionEvent } from '../../../src/core/log/events.ts';
import type { LeaseHolder, Store } from '../../../src/ports/store.ts';

/** A user's own event. */
export function note(text: unknown): NewEvent {
  return { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text };
}

export const HOLDER: LeaseHolder = { id: 'one', host: 'host', pid: 1, startedAt: '0' };

/** The events of a session. */
export async function eventsOf(store: Store, sessionId: string, after = 0): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of store.read(sessionId, { after })) events.push(event);
  return events;
}

/** The texts of a session's notes. */
export async function notesOf(store: Store, sessionId: string): Promise<readonly unknown[]> {
  return (await eventsOf(store, sessionId)).map((event) => (event as unknown as { readonly text: unknown }).text);
}

/** Appends the notes `from` to `to`, one append each, the next when the last was acknowledged. */
export async function appendNotes(store: Store, sessionId: string, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) await store.append(sessionId, [note(n)], { id: `a${n}`, expectedSeq: n - 1 });
}

/** The numbers 1 to `count`. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
