import { HoldfastError } from '../../core/errors.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { frozen } from '../../core/frozen.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { itemsOf } from '../../core/views/session-view.ts';

/** Called with each event after it was committed, in log order. May be asynchronous; the next event does not wait. */
export type EventListener<Event = SessionEvent> = (event: Event) => void | Promise<void>;
/** Called after a commit that changed the slice. */
export type SliceObserver<State> = (before: State, after: State) => void | Promise<void>;

interface Subscription {
  readonly listener: EventListener;
  readonly types: ReadonlySet<string> | undefined;
  /** The last seq that was delivered to this listener, or that it skips; undefined while it is still catching up. */
  cursor: number | undefined;
  closed: boolean;
}

/** The listeners and observers of a session. One listener's error never reaches another, nor the session. */
export class Listeners {
  readonly #subscriptions = new Set<Subscription>();
  readonly #observers = new Set<{ readonly slice: string; readonly observer: SliceObserver<readonly unknown[]> }>();
  readonly #waiters = new Set<() => void>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get listening(): boolean {
    return this.#subscriptions.size + this.#observers.size + this.#waiters.size > 0;
  }

  observe(slice: string, observer: SliceObserver<readonly unknown[]>): () => void {
    const entry = { slice, observer };
    this.#observers.add(entry);
    return () => this.#observers.delete(entry);
  }

  /** Subscribes from `cursor` on; `read` brings what was committed before, or meanwhile. */
  subscribe(
    listener: EventListener,
    options: {
      readonly types: readonly string[] | undefined;
      readonly from: number | undefined;
      readonly seq: () => number;
      readonly read: (after: number) => AsyncIterable<SessionEvent>;
    },
  ): () => void {
    const types = options.types && new Set(options.types);
    const subscription: Subscription = { listener, types, cursor: undefined, closed: false };
    this.#subscriptions.add(subscription);
    if (options.from === undefined) subscription.cursor = options.seq();
    else void this.#catchUp(subscription, options.from - 1, options);
    return () => {
      subscription.closed = true;
      this.#subscriptions.delete(subscription);
    };
  }

  async #catchUp(
    subscription: Subscription,
    after: number,
    source: { readonly seq: () => number; readonly read: (after: number) => AsyncIterable<SessionEvent> },
  ): Promise<void> {
    let cursor = after;
    try {
      do {
        const folded = source.seq();
        for await (const event of source.read(cursor)) {
          if (subscription.closed) return;
          cursor = event.seq;
          this.#deliver(subscription, event);
        }
        if (subscription.closed) return;
        if (cursor < folded) {
          throw new HoldfastError('SESSION_NOT_FOUND', 'the session was deleted; there is nothing more to listen to');
        }
      } while (cursor < source.seq());
      subscription.cursor = cursor; // no await since the comparison: nothing was committed in between
    } catch (error) {
      this.#subscriptions.delete(subscription); // it missed events
      this.#onError(error);
    }
  }

  /** Waits for the next commit, for `signal` to abort or for the end; `cancel` stops waiting. */
  nextCommit(signal?: AbortSignal): { readonly happened: Promise<void>; cancel(): void } {
    let done: () => void = () => {};
    const happened = new Promise<void>((resolve) => {
      done = () => {
        this.#waiters.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
    });
    this.#waiters.add(done);
    signal?.addEventListener('abort', done);
    return { happened, cancel: done };
  }

  /** Stops every listener and observer. */
  close(): void {
    for (const subscription of this.#subscriptions) subscription.closed = true;
    this.#subscriptions.clear();
    this.#observers.clear();
    this.#wake();
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Notifies listeners and observers of a commit. */
  notify(before: SessionState, after: SessionState, events: readonly SessionEvent[]): void {
    if (!this.listening) return;
    for (const subscription of [...this.#subscriptions]) {
      if (subscription.cursor === undefined) continue;
      for (const event of events) {
        if (event.seq <= subscription.cursor || subscription.closed) continue;
        subscription.cursor = event.seq;
        this.#deliver(subscription, event);
      }
    }
    for (const entry of [...this.#observers]) {
      const { slice, observer } = entry;
      if (!this.#observers.has(entry)) continue; // one before it stopped it
      const was = itemsOf(before, slice);
      const is = itemsOf(after, slice);
      if (was !== is && was && is) this.#guard(() => observer(was, is));
    }
    this.#wake();
  }

  #deliver(subscription: Subscription, event: SessionEvent): void {
    if (!subscription.types || subscription.types.has(event.type))
      this.#guard(() => subscription.listener(frozen(event)));
  }

  #guard(call: () => void | Promise<void>): void {
    try {
      const result = call();
      if (result instanceof Promise) result.catch(this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  }
}
