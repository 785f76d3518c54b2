import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { BuiltInManager } from '../history-manager.ts';
import { foldedGroups, managerOf, wholeNumber } from './stage.ts';
import { dropBefore } from './view.ts';

/** How wide the window is. */
export interface SlidingWindowOptions {
  /** The most groups to send, beside those that always are. */
  readonly size: number;
  /**
   * What is left when the window is full. Below `size` the window folds: it grows to `size`, drops to `low` and grows again,
   * so that the beginning of the request, and with it the provider's prompt cache, holds for `size - low` groups at a time.
   * The default, `size`, drops a group for every new one.
   */
  readonly low?: number;
}

const KNOWN: KnownOptions<SlidingWindowOptions> = { size: true, low: true };

/**
 * Sends the newest groups: an assistant message and its results are one group, every other message is one. The leading system,
 * first user, newest user and newest system messages, the user message that started the evaluation and the newest group are
 * always sent; `size: 0` sends just those.
 */
export function slidingWindow(options: SlidingWindowOptions): BuiltInManager {
  refuseUnknownOptions('slidingWindow', options, KNOWN);
  const { size, low, marks } = windowOf('slidingWindow', options);
  return managerOf({
    name: `sliding-window(${marks})`,
    apply(view, { context }) {
      const { leading } = view.index;
      const dropped = foldedGroups(view.count - leading, size, low);
      if (dropped === 0) return { view: dropBefore(view, 0, []) };
      return { view: dropBefore(view, leading + dropped, view.index.fixedGroups(context.preserve)) };
    },
  });
}

/** The checked marks of a window, and how a manager's name shows them. `low` is `size` unless given. */
export function windowOf(
  manager: string,
  { size, low = size }: SlidingWindowOptions,
): Required<SlidingWindowOptions> & { readonly marks: string } {
  wholeNumber(`${manager} size`, size);
  wholeNumber(`${manager} low`, low);
  if (low <= size) return { size, low, marks: low === size ? `${size}` : `${size}, low ${low}` };
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `${manager} low is ${low}, above its size of ${size}; give ${size} or less`,
  );
}
