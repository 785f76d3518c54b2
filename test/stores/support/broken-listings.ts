import type { NewEvent } from '../../../src/core/log/events.ts';
import type { SessionInfo, Store } from '../../../src/ports/store.ts';
import { type BrokenStore, listingBefore, replacing } from './broken-store-parts.ts';

/** Stores whose listings do not show what the logs add up to. */
export const BROKEN_LISTINGS: readonly BrokenStore[] = [
  {
    breaks: 'a listed session has no usage',
    noticedBy: 'adds up the turns and the usage of its responses',
    wrap: (store) =>
      replacing(store, {
        async listSessions(options) {
          const page = await store.listSessions(options);
          return { ...page, sessions: page.sessions.map(({ usage: _, ...session }) => session) };
        },
      }),
  },
  {
    breaks: 'only the first append of a session counts its usage',
    noticedBy: 'adds up the turns and the usage of its responses',
    wrap: (store) => replacing(store, { listSessions: listingFirst(store) }),
  },
  {
    breaks: 'a fork has the usage of its whole origin',
    noticedBy: 'a fork adds up the usage of the responses that it has',
    wrap(store) {
      const forks = new Map<string, string>();
      return replacing(store, {
        forkSession(id, target, options) {
          forks.set(target, id);
          return store.forkSession(id, target, options);
        },
        async listSessions(options) {
          const page = await store.listSessions(options);
          const { sessions: all } = await store.listSessions();
          const originOf = (id: string) => all.find((session) => session.id === forks.get(id));
          return { ...page, sessions: page.sessions.map((session) => withUsageOf(session, originOf(session.id))) };
        },
      });
    },
  },
  {
    breaks: 'the usage of a replaced response stays in listings',
    noticedBy: 'after a response was replaced, its session adds up',
    wrap: (store) =>
      replacing(store, { listSessions: listingBefore(store, ({ usage }) => (usage === undefined ? {} : { usage })) }),
  },
  {
    breaks: 'a listing follows the events that its caller still holds',
    noticedBy: 'changing an event after its append does not change the listing',
    wrap(store) {
      const held = new Map<string, readonly NewEvent[]>();
      return replacing(store, {
        append(id, events, options) {
          held.set(id, events);
          return store.append(id, events, options);
        },
        async listSessions(options) {
          const page = await store.listSessions(options);
          const usageOf = (id: string) =>
            held.get(id)?.find((event) => 'usage' in event) as Pick<SessionInfo, 'usage'> | undefined;
          return { ...page, sessions: page.sessions.map((session) => withUsageOf(session, usageOf(session.id))) };
        },
      });
    },
  },
  {
    breaks: 'a summary does not read the deadlines of approvals',
    noticedBy: 'shows what its log folds to, for events of every type',
    wrap: (store) =>
      replacing(store, {
        async listSessions(options) {
          const page = await store.listSessions(options);
          return { ...page, sessions: page.sessions.map(({ approvalDeadlines: _, ...session }) => session) };
        },
      }),
  },
];

function withUsageOf(session: SessionInfo, other: Pick<SessionInfo, 'usage'> | undefined): SessionInfo {
  return other?.usage ? { ...session, usage: other.usage } : session;
}

/** Lists sessions with the usage that they had when they were first listed. */
function listingFirst(store: Store): Store['listSessions'] {
  const first = new Map<string, SessionInfo>();
  return async (options) => {
    const page = await store.listSessions(options);
    for (const session of page.sessions) if (!first.has(session.id)) first.set(session.id, session);
    return { ...page, sessions: page.sessions.map((session) => withUsageOf(session, first.get(session.id))) };
  };
}
