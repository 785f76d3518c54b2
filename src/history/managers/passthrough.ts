import type { BuiltInManager } from '../history-manager.ts';
import { managerOf } from './stage.ts';

/** Sends everything: the default. */
export function passthrough(): BuiltInManager {
  return managerOf({ name: 'passthrough', apply: (view) => ({ view }) });
}
