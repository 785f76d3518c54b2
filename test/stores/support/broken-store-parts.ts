/** How a store of the suite's own test is broken: methods replaced, options ignored, contents lost. */
import { HoldfastError } from '../../../src/core/errors.ts';
import type { NewEvent } from '../../../src/core/log/events.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { AppendOptions, SessionInfo, Store } from '../../../src/ports/store.ts';
import { contentMissing } from '../../../src/stores/refusals.ts';

export interface BrokenStore {
  /** The broken rule. */
  readonly breaks: string;
  /** A part of the name of a case that detects it. */
  readonly noticedBy: string;
  wrap(store: Store, clock: Clock): Store;
}

/** The store with some methods replaced, or without some of them. */
export function replacing(store: Store, methods: { readonly [K in keyof Store]?: Store[K] | undefined }): Store {
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name in methods ? methods[name as keyof Store] : Reflect.get(target, name, receiver),
  });
}

export type OptionName =
  | 'incarnation'
  | 'fence'
  | 'revision'
  | 'seq'
  | 'endsDrafts'
  | 'contents'
  | 'after'
  | 'limit'
  | 'draftId'
  | 'work';

/** A store whose method ignores one of its options, which are its last argument. */
export function ignores(method: keyof Store, option: OptionName, noticedBy: string): BrokenStore {
  return {
    breaks: `${method} ignores ${option}`,
    noticedBy,
    wrap: (store) =>
      replacing(store, {
        [method]: (...args: unknown[]) => {
          const { [option]: _, ...rest } = (args.at(-1) ?? {}) as Record<string, unknown>;
          const call = store[method] as (...all: unknown[]) => unknown;
          return Reflect.apply(call, store, [...args.slice(0, -1), rest]);
        },
      }),
  };
}

export const LIFE = 'a call that names a deleted incarnation';

export function inTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The contents that each session wrote, with their texts. */
export function contentsOf(store: Store): {
  readonly texts: Map<string, string>;
  readonly hashes: Map<string, Set<string>>;
  note(id: string, options: AppendOptions): void;
  readonly store: Store;
} {
  const texts = new Map<string, string>();
  const hashes = new Map<string, Set<string>>();
  return {
    store,
    texts,
    hashes,
    note(id, { contents = [] }) {
      for (const { hash, text } of contents) {
        texts.set(hash, text);
        hashes.set(id, (hashes.get(id) ?? new Set()).add(hash));
      }
    },
  };
}

/** A fork made with public methods only. */
export async function copyByHand(
  store: Store,
  origin: string,
  target: string,
  at: number,
  closing: readonly NewEvent[],
  wait: boolean,
): Promise<{ readonly seq: number }> {
  let seq = 0;
  for await (const { seq: _, ...event } of store.read(origin, { limit: at })) {
    ({ seq } = await store.append(target, [event as NewEvent], { id: `copy ${seq}`, expectedSeq: seq }));
    if (wait) await inTurn();
  }
  return store.append(target, closing, { id: 'end', expectedSeq: seq });
}

/** Watches only the log. */
export function watchSeq(store: Store): Store['watch'] {
  return (id, listener) => {
    let known: number | undefined;
    const look = (report: () => void) =>
      store.head(id).then(
        ({ seq }) => {
          if (seq !== known) report();
          known = seq;
        },
        // Closed meanwhile: there is no watcher.
        () => {},
      );
    void look(() => {});
    return store.watch(id, () => void look(listener));
  };
}

/** Lists sessions with some fields as they were when the session was first listed at its seq. */
export function listingBefore(
  store: Store,
  pick: (session: SessionInfo) => Partial<SessionInfo>,
): Store['listSessions'] {
  const known = new Map<string, Partial<SessionInfo>>();
  return async (options) => {
    const page = await store.listSessions(options);
    const sessions = page.sessions.map((session) => {
      const name = `${session.id} ${session.seq}`;
      const fields = known.get(name) ?? pick(session);
      known.set(name, fields);
      return { ...session, ...fields };
    });
    return { ...page, sessions };
  };
}

const damages = new WeakMap<Store, { readonly lost: Set<string>; isUnreachable: boolean }>();

/** A memory store that can be damaged, which nothing outside of its process can do. */
export function damageable(store: Store): Store {
  const damage = { lost: new Set<string>(), isUnreachable: false };
  const damaged = replacing(store, {
    async append(id, events, options) {
      if (damage.isUnreachable) throw new HoldfastError('STORE_FAILED', 'the data cannot be reached; check the disk');
      return store.append(id, events, options);
    },
    async readContent(id, hash, options) {
      const text = await store.readContent(id, hash, options);
      if (text !== undefined && damage.lost.has(hash)) throw contentMissing(id, hash);
      return text;
    },
    async check() {
      const report = await store.check();
      const problems = [...report.problems, ...[...damage.lost].map((hash) => `content ${hash} is missing`)];
      return { ...report, ok: problems.length === 0, problems };
    },
  });
  damages.set(damaged, damage);
  return damaged;
}

/** Loses a content of a damageable store. */
export function loseContent(store: Store, hash: string): void {
  damages.get(store)?.lost.add(hash);
}

/** Makes the data of a damageable store unreachable: it rejects every append. */
export function makeUnreachable(store: Store): void {
  const damage = damages.get(store);
  if (damage) damage.isUnreachable = true;
}
