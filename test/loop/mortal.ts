/**
 * Simulated processes that are killed: everything that a process does passes through `pass`, and at the nth pass it ends. From then
 * on its promises never settle, and its actions have no effect. The store, the clock and the outside effects of tools outlive it.
 */
import { type Clock, type Model, memoryStore, type Store } from '../../src/index.ts';
import type { LeaseKeeper } from '../../src/ports/store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** The state outside all processes. */
export class World {
  readonly clock: FakeClock = fakeClock();
  readonly store: Store = memoryStore({ clock: this.clock });
  /** How many times each call acted, by its idempotency key. */
  readonly acts: Map<string, number> = new Map();
  /** Calls whose result is in the log. */
  readonly finished: Set<string> = new Set();
  /** Calls that acted although they had their result: must be empty. */
  readonly ranAgain: string[] = [];
  /** How many times a request that its provider failed was made, by a unique name. */
  readonly failures: Map<string, number> = new Map();
}

const WRITES = ['append', 'acquireLease', 'releaseLease', 'appendDraft', 'writeSnapshot'];

/** One simulated process. */
export class Life {
  readonly world: World;
  readonly store: Store;
  readonly clock: Clock;
  /** Resolves when it was killed. */
  readonly died: Promise<'died'>;
  passed = 0;
  /** Called when a write is durable and not acknowledged yet. */
  afterWrite: ((method: string, args: readonly unknown[]) => Promise<void> | undefined) | undefined;
  readonly #crashAt: number;
  readonly #die: () => void;
  /** The keepers of its leases. */
  readonly #keepers: LeaseKeeper[] = [];
  #dead = false;

  constructor(world: World, crashAt: number = Number.POSITIVE_INFINITY) {
    const { promise, resolve } = Promise.withResolvers<'died'>();
    this.world = world;
    this.clock = world.clock;
    this.died = promise;
    this.#crashAt = crashAt;
    this.#die = () => resolve('died');
    this.store = this.#mortalStore(world.store);
  }

  /** A point at which it may be killed. */
  async pass(): Promise<void> {
    if (this.#dead || ++this.passed >= this.#crashAt) await this.kill();
  }

  /** Kills it here: the promise never settles. */
  kill(): Promise<never> {
    this.#dead = true;
    for (const keeper of this.#keepers) keeper.stop();
    this.#die();
    return new Promise(() => {});
  }

  /** Acts outside, with a point before and after. */
  async act(key: string): Promise<void> {
    await this.pass();
    const { acts, finished, ranAgain } = this.world;
    acts.set(key, (acts.get(key) ?? 0) + 1);
    if (finished.has(key)) ranAgain.push(key);
    await this.pass();
  }

  /** A model with a point before every part of its response. */
  mortal(model: Model): Model {
    const life = this;
    return {
      ...model,
      async *stream(request) {
        await life.pass();
        for await (const part of model.stream(request)) {
          await life.pass();
          yield part;
        }
      },
    };
  }

  #mortalStore(store: Store): Store {
    const life = this;
    const { finished } = this.world;
    return new Proxy(store, {
      get(target, property) {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function') return method;
        if (property === 'keepLease') {
          return (...args: Parameters<Store['keepLease']>) => {
            const keeper = target.keepLease(...args);
            life.#keepers.push(keeper);
            if (life.#dead) keeper.stop();
            const renew = (): Promise<boolean> => (life.#dead ? new Promise(() => {}) : keeper.renew());
            return { remainingMs: () => keeper.remainingMs(), renew, stop: () => keeper.stop() } satisfies LeaseKeeper;
          };
        }
        if (!WRITES.includes(String(property))) {
          return (...args: unknown[]) => (life.#dead ? new Promise(() => {}) : method.apply(target, args));
        }
        return async (...args: unknown[]) => {
          await life.pass();
          const result: unknown = await method.apply(target, args);
          if (property === 'append') for (const key of resultsIn(args)) finished.add(key);
          await life.afterWrite?.(String(property), args);
          await life.pass();
          return result;
        };
      },
    });
  }
}

/** The calls whose results an append has recorded, by idempotency key. */
function resultsIn([sessionId, events]: readonly unknown[]): readonly string[] {
  return (events as Parameters<Store['append']>[1]).flatMap((event) => {
    if (event.type !== 'message/recorded') return [];
    const { message } = event as { message: { role: string; evaluationId: string; turn: number; toolCallId: string } };
    return message.role === 'tool'
      ? [`${sessionId}/${message.evaluationId}/${message.turn}/${message.toolCallId}`]
      : [];
  });
}
