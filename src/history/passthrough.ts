import type { HistoryManager } from './history-manager.ts';
import { managerOf } from './stage.ts';

/** Sends everything: the default. */
export function passthrough(): HistoryManager {
  return managerOf({ name: 'passthrough', apply: (view) => ({ view }) });
}
