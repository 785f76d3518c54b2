import { type AnySession, memoryStore, type NewEvent, openSession, type Store } from '../../src/index.ts';

type Act = (session: AnySession) => Promise<unknown>;

/** A store in which another handle of the session acts once, right before an operation of the others. */
export interface RacedStore extends Store {
  /** Acts before the next append that has such an event. */
  before(event: string | ((event: NewEvent) => boolean), act: Act): void;
  /** Acts before the next release of a lease. */
  beforeRelease(act: Act): void;
}

/** A memory store whose session, called `session`, another handle changes at the worst moment. */
export function racedStore(): RacedStore {
  const raw = memoryStore();
  let isNext: (events: readonly NewEvent[]) => boolean = () => false;
  let isBeforeRelease = false;
  let act: Act = async () => {};
  const race = async (): Promise<void> => {
    isNext = () => false;
    isBeforeRelease = false;
    await act(await openSession({ store: raw, id: 'session' }));
  };
  return {
    ...raw,
    before(event, then) {
      const isIt = typeof event === 'string' ? ({ type }: NewEvent) => type === event : event;
      isNext = (events) => events.some(isIt);
      act = then;
    },
    beforeRelease(then) {
      isBeforeRelease = true;
      act = then;
    },
    async append(sessionId, events, options) {
      if (isNext(events)) await race();
      return raw.append(sessionId, events, options);
    },
    async releaseLease(...args) {
      if (isBeforeRelease) await race();
      return raw.releaseLease(...args);
    },
  };
}
