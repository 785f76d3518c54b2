import type { BuiltInManager, History } from '../history-manager.ts';
import { foreignStage } from './foreign-stage.ts';
import { managerOf, type Stage, sequence, stageOf } from './stage.ts';

/** Applies several managers, each to what the one before it left. */
export function compose(...managers: readonly History[]): BuiltInManager {
  const stages = managers.map(asStage);
  return managerOf(sequence(stages.map(({ name }) => name).join(' + ') || 'passthrough', stages));
}

const foreign = new WeakMap<object, Stage>();

/** Any history as a stage: a built-in manager is one, any other is wrapped, once. */
export function asStage(history: History): Stage {
  const known = typeof history === 'function' ? undefined : stageOf(history);
  if (known) return known;
  const wrapped = foreign.get(history) ?? foreignStage(history);
  foreign.set(history, wrapped);
  return wrapped;
}
