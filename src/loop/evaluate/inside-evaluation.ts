import { AsyncLocalStorage } from 'node:async_hooks';
import type { AnySession } from '../../session/session.ts';
import { describeError } from '../define/tool-result.ts';

/**
 * Which evaluations the running code is inside of. A tool that awaits `run` of its own session would wait for the evaluation that waits
 * for the tool: `run` must not wait there.
 */

interface Scope {
  readonly session: AnySession;
  readonly outer: Scope | undefined;
  /** Code that a tool leaves behind still carries the scope. */
  isOver: boolean;
}

const running = new AsyncLocalStorage<Scope | undefined>();

/** Runs `work` as a part of an evaluation of this session. */
export async function insideEvaluation<T>(session: AnySession, work: () => Promise<T>): Promise<T> {
  const scope: Scope = { session, outer: running.getStore(), isOver: false };
  try {
    return await running.run(scope, work);
  } finally {
    scope.isOver = true;
  }
}

/**
 * A listener that cannot break the run: its first error is reported as a process warning, the others are swallowed. It is called outside
 * of the evaluation that emits: the evaluation does not wait for it, so that a run which the listener begins may wait.
 */
export function guarded<Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
): (...args: Args) => undefined {
  let hasWarned = false;
  const warn = (error: unknown): void => {
    if (!hasWarned) process.emitWarning(`onEvent failed: ${describeError(error)}`, 'HoldfastWarning');
    hasWarned = true;
  };
  return (...args) => {
    try {
      const returned = running.run(undefined, () => listener(...args));
      if (returned instanceof Promise) returned.catch(warn);
    } catch (error) {
      warn(error);
    }
  };
}

/** Whether this code is called by an evaluation of the session that has not ended, whichever handle that uses. */
export function isInsideEvaluation({ store, id }: AnySession): boolean {
  for (let scope = running.getStore(); scope; scope = scope.outer) {
    if (!scope.isOver && scope.session.store === store && scope.session.id === id) return true;
  }
  return false;
}
