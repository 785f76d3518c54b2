import type { SessionEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { chunk, holder, note, readAll, searchIn } from './harness.ts';

/** A call of one method. It rejects where the method throws, too. */
export type MethodCall = () => Promise<unknown>;

/** Calls every method that takes a session id, with arguments that an open store would accept if the id is valid. */
export function methodsOfSession(store: Store, id: string): readonly MethodCall[] {
  return [
    () => store.append(id, [note(1)], { id: 'z', expectedSeq: 0 }),
    () => readAll(store, id),
    () => store.head(id),
    async () => store.watch(id, () => {}),
    () => store.acquireLease(id, { holder: holder('one'), ttlMs: 1000 }),
    () => store.renewLease(id, 1, 1000),
    async () => store.keepLease(id, 1, { ttlMs: 1000, onLost: () => {} }),
    () => store.releaseLease(id, 1),
    () => store.readLease(id),
    () => store.writeSnapshot(id, { seq: 1, data: '{}' }),
    () => store.readSnapshot(id),
    () => store.appendDraft(id, [chunk(1, 1)], { fence: 1 }),
    () => store.readDraft(id),
    () => store.readContent(id, 'sha256:x'),
    () => store.readCallContent(id, 'call'),
    () => store.forkSession(id, 'fork', { at: 1, events: [note(1)] }),
    () => store.replaceEvent(id, { ...note(1), seq: 1 } as SessionEvent),
    () => store.deleteSession(id),
  ];
}

/** Calls every method but `close`, with arguments that an open store would accept. */
export function everyMethod(store: Store): readonly MethodCall[] {
  return [
    ...methodsOfSession(store, 's'),
    ...(store.watchWork ? [async () => store.watchWork?.(() => {})] : []),
    () => store.listSessions(),
    ...(store.search ? [() => searchIn(store, 'x')] : []),
    () => store.check(),
  ];
}
