import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import type { MessageIndex } from '../coherence/message-index.ts';
import type { BuiltInManager } from '../history-manager.ts';
import { windowOf } from './sliding-window.ts';
import { managerOf } from './stage.ts';
import { keepOnly, type View } from './view.ts';
import { messagesOf } from './view-messages.ts';

/** How much stays, and what matters. */
export interface KeepImportantOptions {
  /** The most groups to send, beside those that always are. */
  readonly size: number;
  /** How many are left when there are more: below `size` they are dropped in batches and the prompt cache holds in between. */
  readonly low?: number;
  /** How much a group matters, as a number. Called once for each group. Of equals the newer stays. */
  readonly score: (group: readonly ConversationMessage[]) => number;
}

const KNOWN: KnownOptions<KeepImportantOptions> = { size: true, low: true, score: true };

/** Sends the groups that matter most, whatever their age. */
export function keepImportant(options: KeepImportantOptions): BuiltInManager {
  refuseUnknownOptions('keepImportant', options, KNOWN);
  const { score } = options;
  const { size, low, marks } = windowOf('keepImportant', options);
  return managerOf({
    name: `keep-important(${marks})`,
    apply(view, { context, state }) {
      const ranking = rank(view, { size, low, score }, state);
      if (!ranking.dropped) return { view, state: ranking };
      const groups = new Set(view.index.fixedGroups(context.preserve));
      for (const { group } of ranking.kept) groups.add(group);
      for (let group = ranking.next; group < view.index.groups; group++) groups.add(group);
      return {
        view: keepOnly(
          view,
          [...groups].sort((a, b) => a - b),
        ),
        state: ranking,
      };
    },
  });
}

interface Scored {
  readonly group: number;
  readonly score: number;
}

/** The settled groups that have been kept. The others are not ranked yet: they may still grow, and stay. */
interface Ranking {
  readonly index: MessageIndex;
  /** The first group that was not ranked. */
  readonly next: number;
  readonly kept: readonly Scored[];
  readonly dropped: boolean;
}

function rank(view: View, options: Required<KeepImportantOptions>, state: unknown): Ranking {
  const { size, low, score } = options;
  const before = state as Ranking | undefined;
  const known = view.stable && before?.index === view.index ? before : undefined;
  const { settled } = view.index;
  let kept = known?.kept ?? [];
  let dropped = known?.dropped ?? false;
  for (const { from, to } of view.pieces) {
    for (let group = Math.max(from, known?.next ?? 0); group < to && group < settled; group++) {
      if (isFixedForever(view.index, group)) continue;
      kept = [...kept, { group, score: scoreOf(messagesOf(view, group), score) }];
      if (kept.length > size) {
        kept = best(kept, low);
        dropped = true;
      }
    }
  }
  return { index: view.index, next: settled, kept, dropped };
}

/** Not a number would sort anywhere: which groups are sent would be chance. */
function scoreOf(group: readonly ConversationMessage[], score: KeepImportantOptions['score']): number {
  const value: unknown = score(group);
  if (typeof value === 'number' && !Number.isNaN(value)) return value;
  if (value instanceof Promise) value.catch(() => {}); // its rejection is ignored
  const returned =
    typeof value === 'object' ? 'an object or a promise' : typeof value === 'string' ? `"${value}"` : String(value);
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `keepImportant: score returned ${returned} for the group of message ${group[0]?.id}; return a number, higher for what matters more`,
  );
}

/** The leading system messages, the first user message and what was added take no place from others. */
function isFixedForever(index: MessageIndex, group: number): boolean {
  return group < index.leading || group === index.firstUser || index.additions.includes(group);
}

/** The `count` best, by age. */
function best(scored: readonly Scored[], count: number): readonly Scored[] {
  const order = scored.toSorted((a, b) => b.score - a.score || b.group - a.group);
  return order.slice(0, count).sort((a, b) => a.group - b.group);
}
