import type { Model } from '../ports/model.ts';
import type { Store } from '../ports/store.ts';
import { openSession } from '../session/session.ts';

/**
 * Named points where a process may crash. A run without a crash lists them; a run with `crashAt` kills its own process at the nth. A
 * crash matrix is therefore built from the points that an uninterrupted run passed, not from a list written by hand.
 */
export interface CrashPoints {
  /** Passes a point; crashes here if it is the chosen one. */
  pass(name: string): void;
  /** The points passed so far. */
  readonly passed: readonly string[];
}

/** Options of `crashPoints`. */
export interface CrashPointsOptions {
  /** Crash at the nth point, counted from 1. Absent: at none. */
  readonly crashAt?: number;
  /** Called with each point before anything else happens there. */
  readonly onPoint?: (name: string, n: number) => void;
  /** How to crash: by default SIGKILL to this process, which cannot be caught. */
  readonly crash?: () => void;
}

/** Creates a set of crash points. */
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

/** The methods of a store that write. */
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

/** Wraps a store, or one of `openStore`: a crash point before and after each write. */
export function storeWithCrashPoints<S extends Store>(store: S, points: CrashPoints): S {
  const writes: ReadonlySet<unknown> = new Set(WRITES);
  // Its sessions write through the points, not past them.
  const session = (id: string, options: object = {}): unknown => openSession({ ...options, store: wrapped, id });
  const wrapped: S = new Proxy(store, {
    get(target, property) {
      if (property === 'session' && property in target) return session;
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
  return wrapped;
}

/** Wraps a model: a crash point before every part of its response. */
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
