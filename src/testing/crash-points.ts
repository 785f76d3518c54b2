import type { Model } from '../ports/model.ts';
import type { Store } from '../ports/store.ts';

/**
 * Named places where a process may die. A run without a crash lists them; a run told to crash at the nth dies there, for
 * real: what an uninterrupted run passed through is what a crash matrix is made of, not a list somebody wrote.
 */
export interface CrashPoints {
  /** Passes a point: dies here if this is the one. */
  pass(name: string): void;
  /** The points passed so far. */
  readonly passed: readonly string[];
}

export interface CrashPointsOptions {
  /** Die at the nth point, counted from 1. Absent: at none. */
  readonly crashAt?: number;
  /** Told of each point before anything else happens there. */
  readonly onPoint?: (name: string, n: number) => void;
  /** How to die: by default SIGKILL to this very process, which nothing can catch. */
  readonly crash?: () => void;
}

/** Makes a set of crash points. */
export function crashPoints(options: CrashPointsOptions = {}): CrashPoints {
  const { crashAt, onPoint, crash = () => process.kill(process.pid, 'SIGKILL') } = options;
  const passed: string[] = [];
  return {
    passed,
    pass(name) {
      passed.push(name);
      onPoint?.(name, passed.length);
      if (passed.length === crashAt) crash();
    },
  };
}

/** What a store does that a crash can come before or after. */
const WRITES = [
  'append',
  'acquireLease',
  'releaseLease',
  'appendDraft',
  'writeSnapshot',
  'replaceEvent',
  'forkSession',
  'deleteSession',
] as const;

/** A store with a crash point on both sides of everything it writes. */
export function storeWithCrashPoints(store: Store, points: CrashPoints): Store {
  const writes: ReadonlySet<unknown> = new Set(WRITES);
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (!writes.has(property)) return value.bind(target);
      return async (...args: unknown[]) => {
        points.pass(`before ${String(property)}`);
        const result: unknown = await value.apply(target, args);
        points.pass(`after ${String(property)}`);
        return result;
      };
    },
  });
}

/** A model with a crash point before every part of its answer. */
export function modelWithCrashPoints(model: Model, points: CrashPoints): Model {
  return {
    provider: model.provider,
    modelId: model.modelId,
    async *stream(request) {
      for await (const part of model.stream(request)) {
        points.pass(`before ${part.type}`);
        yield part;
      }
    },
  };
}
