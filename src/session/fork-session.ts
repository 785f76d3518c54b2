import { randomUUID } from 'node:crypto';
import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import { isOpen, openCalls } from '../core/evaluations.ts';
import type { NewEvent, SessionEvent } from '../core/events.ts';
import { createFold } from '../core/fold.ts';
import { type Upcasters, upcast } from '../core/upcast.ts';
import type { Store } from '../ports/store.ts';
import { closingResults } from './close-calls.ts';
import { contentHashes, messagesIn, shareContents } from './contents.ts';
import type { AnySession } from './session.ts';
import { checkSessionId } from './session-id.ts';

/**
 * Copies a session's log, up to `at`, into a session of its own (D55): it survives its origin. Neither draft nor lease comes
 * along, and calls that were open are closed as failed, so that two sessions never carry out the same call.
 */
export async function forkSession(
  session: AnySession,
  options: { readonly id?: string; readonly at?: number; readonly upcasters: Upcasters | undefined },
): Promise<string> {
  const { store } = session;
  const id = options.id ?? `${session.id.slice(0, 490)}-fork-${randomUUID().slice(0, 8)}`.toWellFormed();
  checkSessionId(id);
  if ((await store.head(id)) > 0) {
    throw new HoldfastError('SESSION_CONFLICT', `there is a session ${id} already; choose another id for the fork`);
  }
  const head = await store.head(session.id);
  const at = options.at ?? head;
  if (!Number.isSafeInteger(at) || at < 1 || at > head) {
    throw new HoldfastError('INVALID_ARGUMENT', `session ${session.id} can be forked at 1 to ${head}, not at ${at}`);
  }
  const copied: NewEvent[] = [];
  const fold = createFold();
  const hashes = new Set<string>();
  let state = fold.initial;
  for await (const event of store.read(session.id, { limit: at })) {
    const current = upcast(event, options.upcasters);
    state = fold.apply(state, current);
    copied.push(withoutSeq(event)); // as it was written: whoever reads the fork translates it, too
    for (const message of messagesIn(current)) for (const hash of contentHashes(message)) hashes.add(hash);
  }
  const now = new Date(session.clock.now()).toISOString();
  const closing: NewEvent[] = [];
  for (const evaluation of state.record.evaluations) {
    if (!isOpen(evaluation)) continue;
    const text = 'This conversation was forked before the call finished; its outcome belongs to the original.';
    for (const result of closingResults(evaluation, openCalls(evaluation), { text, at: now })) {
      closing.push({ ...result, at: now });
    }
  }
  const forked: NewEvent = { type: 'session/forked', at: now, origin: { sessionId: session.id, seq: at } };
  await shareContents(store, id, hashes);
  await appendOnce(store, id, [...copied, forked, ...closing]);
  return id;
}

/** The one append of a fork; repeated under its id when nobody said whether it was written. */
async function appendOnce(store: Store, id: string, events: readonly NewEvent[]): Promise<void> {
  const options = { id: `fork:${randomUUID()}`, expectedSeq: 0 };
  try {
    await store.append(id, events, options);
  } catch (error) {
    if (!isHoldfastError(error, 'STORE_FAILED')) throw error;
    await store.append(id, events, options);
  }
}

function withoutSeq({ seq: _, ...event }: SessionEvent): NewEvent {
  return event as NewEvent;
}
