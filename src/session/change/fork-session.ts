import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { isOpen, openCalls } from '../../core/fold/evaluations.ts';
import { createFold } from '../../core/fold/fold.ts';
import type { NewEvent } from '../../core/log/events.ts';
import { checkSessionId } from '../../core/log/session-id.ts';
import { type Upcasters, upcastLogged } from '../../core/log/upcast.ts';
import type { ForkOptions, Store } from '../../ports/store.ts';
import { lateModule } from '../../stores/late-module.ts';
import type { AnySession } from '../session.ts';
import { closingResults } from './close-calls.ts';
import { refuseImported } from './imported.ts';

/**
 * Copies a session's log, up to `at`, into a session of its own (D55): it survives its origin. Neither draft nor lease is
 * copied, and calls that were open are closed as failed, so that two sessions never carry out the same call.
 */
export async function forkSession(
  session: AnySession,
  options: { readonly id?: string; readonly at?: number; readonly upcasters: Upcasters | undefined },
): Promise<string> {
  refuseImported(session); // its copy would be a second session of one source
  const { store, incarnation } = session;
  const id =
    options.id ??
    `${session.id.slice(0, 490)}-fork-${lateModule('node:crypto').randomUUID().slice(0, 8)}`.toWellFormed();
  checkSessionId(id);
  const { seq: head } = await store.head(session.id);
  const at = options.at ?? head;
  if (!Number.isSafeInteger(at) || at < 1 || at > head) {
    throw new HoldfastError('INVALID_ARGUMENT', `session ${session.id} can be forked at 1 to ${head}, not at ${at}`);
  }
  const fold = createFold();
  let state = fold.initial;
  for await (const event of store.read(session.id, { limit: at, incarnation })) {
    // An event that cannot be translated is reported by the handles that read it.
    state = fold.apply(
      state,
      upcastLogged(event, options.upcasters ?? {}, () => {}),
    );
  }
  const now = new Date(session.clock.now()).toISOString();
  const closing: NewEvent[] = [];
  for (const evaluation of state.record.evaluations) {
    if (!isOpen(evaluation)) continue;
    const text = 'This conversation was forked before the call finished; its outcome belongs to the original.';
    for (const result of closingResults(evaluation, openCalls(evaluation), { closing: text, at: now })) {
      closing.push({ ...result, at: now });
    }
  }
  const forked: NewEvent = { type: 'session/forked', at: now, origin: { sessionId: session.id, seq: at } };
  await forkOnce(store, session.id, id, { at, incarnation, events: [forked, ...closing] });
  return id;
}

/** Forks. When the store failed and may have forked all the same, the target's length decides. */
async function forkOnce(store: Store, origin: string, target: string, options: ForkOptions): Promise<void> {
  try {
    await store.forkSession(origin, target, options);
  } catch (error) {
    if (!isHoldfastError(error, 'STORE_FAILED')) throw error;
    if ((await store.head(target)).seq === options.at + options.events.length) return;
    await store.forkSession(origin, target, options);
  }
}
