import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ConversationMessage, ToolMessage } from '../../core/log/messages.ts';
import type { BuiltInManager } from '../history-manager.ts';
import { managerOf, wholeNumber } from './stage.ts';
import { reshape } from './view.ts';

/** How long a result may be. */
export interface TruncateToolResultsOptions {
  /** The most characters of a result's text, the suffix among them; never less than the suffix. */
  readonly maxLength?: number;
  /** What a shortened text ends with. */
  readonly suffix?: string;
  /** Only the results of these tools; absent: of all. */
  readonly tools?: readonly string[];
}

/** The suffix of a shortened result, unless another is given. */
export const TRUNCATION_SUFFIX = '\n... [truncated]';

const KNOWN: KnownOptions<TruncateToolResultsOptions> = { maxLength: true, suffix: true, tools: true };

/** Shortens long tool results. Each text keeps its beginning; media and everything that is not a result stay as they are. */
export function truncateToolResults(options: TruncateToolResultsOptions = {}): BuiltInManager {
  refuseUnknownOptions('truncateToolResults', options, KNOWN);
  const { suffix = TRUNCATION_SUFFIX } = options;
  const maxLength = wholeNumber('truncateToolResults maxLength', options.maxLength ?? 2000);
  const shorten = resultsOf(options.tools, (result) => truncateResult(result, maxLength, suffix));
  return managerOf({
    name: `truncate-tool-results(${maxLength})`,
    apply: (view) => ({ view: reshape(view, shorten, true) }),
  });
}

/** Changes tool results, of all tools or of some; each changed result is the same object each time. */
export function resultsOf(
  tools: readonly string[] | undefined,
  change: (result: ToolMessage) => ToolMessage,
): (message: ConversationMessage) => ConversationMessage {
  const only = tools && new Set(tools);
  const changed = new WeakMap<ToolMessage, ToolMessage>();
  return (message) => {
    if (message.role !== 'tool' || (only && !only.has(message.toolName))) return message;
    const result = changed.get(message) ?? change(message);
    if (result !== message) changed.set(message, result);
    return result;
  };
}

/** A result whose texts together have at most `maxLength` characters; the same object when they already do. */
export function truncateResult(message: ToolMessage, maxLength: number, suffix: string): ToolMessage {
  let total = 0;
  for (const part of message.content) if (part.type === 'text') total += part.text.length;
  // A limit below the suffix means the suffix: shorter could not say that something is missing (D34).
  if (total <= Math.max(maxLength, suffix.length)) return message;
  let room = Math.max(0, maxLength - suffix.length);
  let cut = false;
  const content = message.content.flatMap((part) => {
    if (part.type !== 'text') return part;
    if (cut) return [];
    if (part.text.length <= room) {
      room -= part.text.length;
      return part;
    }
    cut = true;
    return { ...part, text: part.text.slice(0, wholeCharacters(part.text, room)) + suffix };
  });
  return { ...message, content };
}

/** The longest length up to `length` that does not end inside a surrogate pair. */
function wholeCharacters(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return length > 0 && last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}
