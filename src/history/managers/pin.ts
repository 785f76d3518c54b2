import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { BuiltInManager, Preserve } from '../history-manager.ts';
import { managerOf, wholeNumber } from './stage.ts';

const KNOWN: KnownOptions<Preserve> = { messages: true, tools: true, last: true };

/**
 * Keeps messages, the calls of tools, or the newest messages in the request, whatever the managers after it in a composition drop:
 * `compose(pin({ tools: ['plan'] }), slidingWindow({ size: 20 }))`. A pinned message keeps its whole group. Pinned results are not
 * cleared; they are still truncated.
 */
export function pin(what: Preserve): BuiltInManager {
  refuseUnknownOptions('pin', what, KNOWN);
  if (what.last !== undefined) wholeNumber('pin last', what.last);
  return managerOf({ name: 'pin', apply: (view) => ({ view, preserve: what }) });
}
