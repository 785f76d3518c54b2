import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ConversationMessage, UserMessage } from '../../core/log/messages.ts';
import { hashOf } from '../../formats/call-ids.ts';
import { placeBeside } from '../../formats/message-parts.ts';
import type { BuiltInManager, CurationContext, SummaryRequest } from '../history-manager.ts';
import { windowOf } from './sliding-window.ts';
import { foldedGroups, managerOf, type StageOutput, wholeNumber } from './stage.ts';
import { addAt, at, dropBefore, type View } from './view.ts';
import { messagesAt } from './view-messages.ts';

/** When to summarise, and how. */
export interface SummarizeOptions {
  /** How many groups are sent as they are, at most, before the oldest are summarised. */
  readonly size: number;
  /** How many are still sent as they are after that; the default is half of `size`. */
  readonly low?: number;
  /**
   * How many groups before the window is full the next summary is begun in the background, below `low`. No request waits for it
   * unless the window is full before it is made. The default, 0, makes a summary when a request needs it, and that request waits.
   */
  readonly ahead?: number;
  /** The instructions of the model that makes the summary. */
  readonly instructions?: string;
  /** How long a summary may be. */
  readonly maxTokens?: number;
  /** The text before a summary in the request. */
  readonly preamble?: string;
}

const INSTRUCTIONS =
  'Summarise this part of a conversation for the assistant that continues it. Keep what was asked, decided and found out, ' +
  'names, paths, numbers, open questions and what is left to do. Leave out what no longer matters.';
const PREAMBLE = 'Summary of the conversation so far:\n\n';

/** How many folds back an earlier summary is looked for when the newest one has not been made yet. */
const LOOK_BACK = 8;

const KNOWN: KnownOptions<SummarizeOptions> = {
  size: true,
  low: true,
  ahead: true,
  instructions: true,
  maxTokens: true,
  preamble: true,
};

/**
 * Replaces the oldest groups by a summary. The manager only names what it needs: the loop makes it, once, and records it,
 * so that a resumed or replayed conversation uses the same one. Each summary takes in the one before it. Until it is there, or when
 * it cannot be made, the request is sent with the summary before and the groups since. The first user message is never summarised.
 * With `ahead` the next summary is made before it is needed: it has the same range and text, so requests are the same with and without.
 */
export function summarize(options: SummarizeOptions): BuiltInManager {
  refuseUnknownOptions('summarize', options, KNOWN);
  const { instructions = INSTRUCTIONS, preamble = PREAMBLE, maxTokens } = options;
  const size = wholeNumber('summarize size', options.size, 1);
  // The newest group is never summarised: the model responds to it.
  const low = wholeNumber('summarize low', options.low ?? Math.ceil(size / 2), 1);
  windowOf('summarize', { size, low });
  if (maxTokens !== undefined) wholeNumber('summarize maxTokens', maxTokens, 1);
  const ahead = aheadOf(options.ahead ?? 0, low);
  const parameters = hashOf(JSON.stringify([instructions, preamble, maxTokens ?? null]));
  const step = size + 1 - low;

  const foldAt = (view: View, dropped: number): Fold | undefined => {
    const { index } = view;
    const start = index.leading + dropped;
    // The first user message always stays, so no summary speaks of it. The newest may yet go: a summary does.
    const first = at(view, index.leading);
    const begin = first && 'group' in first && first.group === index.firstUser ? index.leading + 1 : index.leading;
    if (begin >= start) return undefined;
    const [from] = messagesAt(view, begin);
    const to = messagesAt(view, start - 1).at(-1);
    return from && to && { begin, start, from: from.id, to, key: `${from.id}..${to.id}#${parameters}` };
  };

  const requestOf = ({ key, from, to }: Fold, messages: readonly ConversationMessage[]): SummaryRequest => ({
    ...{ key, from, to: to.id, messages, instructions },
    ...(maxTokens !== undefined && { maxTokens }),
  });

  /** The summary that the next fold will need, when that fold is near and its groups are final. */
  const nextFold = (
    view: View,
    dropped: number,
    { summaries }: CurationContext,
    current?: { readonly fold: Fold; readonly message: UserMessage },
  ): Pick<StageOutput, 'needs'> | undefined => {
    if (ahead === 0 || view.count - view.index.leading <= dropped + size - ahead) return undefined;
    const next = foldAt(view, dropped + step);
    const last = next && at(view, next.start - 1);
    if (!last || ('group' in last && last.group >= view.index.settled)) return undefined;
    if (summaries?.(next.key) !== undefined) return undefined;
    const since = messagesBetween(view, current ? current.fold.start : next.begin, next.start);
    return { needs: [{ ...requestOf(next, current ? [current.message, ...since] : since), ahead: true }] };
  };

  return managerOf({
    name: `summarize(${size}, low ${low}${ahead === 0 ? '' : `, ahead ${ahead}`})`,
    apply(view, { context, state }) {
      const dropped = foldedGroups(view.count - view.index.leading, size, low);
      const wanted = foldAt(view, dropped);
      if (!wanted) return { view, ...nextFold(view, dropped, context) };
      const text = context.summaries?.(wanted.key);
      if (text !== undefined) {
        const output = withSummary(view, wanted, preamble + text, context, state);
        return { ...output, ...nextFold(view, dropped, context, { fold: wanted, message: output.state.message }) };
      }
      for (let back = 1; back <= LOOK_BACK && dropped > back * step; back++) {
        const earlier = foldAt(view, dropped - back * step);
        const earlierText = earlier && context.summaries?.(earlier.key);
        if (!earlier || earlierText === undefined) continue;
        const output = withSummary(view, earlier, preamble + earlierText, context, state);
        const needs = [
          requestOf(wanted, [output.state.message, ...messagesBetween(view, earlier.start, wanted.start)]),
        ];
        return { ...output, needs };
      }
      return { view, needs: [requestOf(wanted, messagesBetween(view, wanted.begin, wanted.start))] };
    },
  });
}

/** `ahead`, below `low`: a summary that is begun before the window is full covers none of the newest groups. */
function aheadOf(ahead: number, low: number): number {
  wholeNumber('summarize ahead', ahead);
  if (ahead < low) return ahead;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `summarize ahead is ${ahead}, and low is ${low}; give less than low, so that the groups to summarise are there`,
  );
}

/** The groups that one summary stands for: those from `begin` up to `start`, counted in the view. */
interface Fold {
  readonly begin: number;
  readonly start: number;
  readonly from: string;
  readonly to: ConversationMessage;
  readonly key: string;
}

/** The summary that was sent last: the same one is the same object. */
interface Added {
  readonly key: string;
  readonly text: string;
  readonly message: UserMessage;
}

function withSummary(
  view: View,
  fold: Fold,
  text: string,
  { preserve }: CurationContext,
  state: unknown,
): StageOutput & { readonly state: Added } {
  const known = state as Added | undefined;
  const same = known?.key === fold.key && known.text === text;
  const added = same ? known : { key: fold.key, text, message: summaryMessage(fold, text) };
  const rest = dropBefore(view, fold.start, view.index.fixedGroups(preserve));
  return { view: addAt(rest, rest.count - (view.count - fold.start), added.message), state: added };
}

function messagesBetween(view: View, begin: number, start: number): readonly ConversationMessage[] {
  const messages: ConversationMessage[] = [];
  for (let rank = begin; rank < start; rank++) messages.push(...messagesAt(view, rank, true));
  return messages;
}

function summaryMessage({ to, key }: Fold, text: string): UserMessage {
  return { ...placeBeside(to), id: `summary:${key}`, role: 'user', content: [{ type: 'text', text }] };
}
