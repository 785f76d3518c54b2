import type {
  BlockList,
  ConversationBlock,
  NoticeBlock,
  SessionConversationState,
  SubagentState,
  ToolUseBlock,
} from '../../conversation/blocks.ts';
import { describeNotice } from '../../conversation/describe-notice.ts';
import { describeToolUse, type ToolUseDescription } from '../../conversation/describe-tool-use.ts';
import { findSubagent } from '../../conversation/selectors.ts';
import { asObject, keep } from '../json-access.ts';
import { number } from './conversation-facts.ts';

/** A block as a document shows it: a subagent's with what the subagent did, a result with the call that it belongs to. */
export interface ShownBlock {
  readonly block: ConversationBlock;
  readonly thread?: Thread;
  /** Of a call: what it does. Of a result that does not follow its call: what the call does. */
  readonly call?: ToolUseDescription;
}

/** A thread to be shown inside another. */
export interface Thread {
  readonly subagent: SubagentState;
  readonly blocks: readonly ShownBlock[];
}

/** A document: the main thread with every other in its place, and those that no block shows. */
export interface ThreadView {
  readonly blocks: readonly ShownBlock[];
  readonly detached: readonly Thread[];
}

/** Threads deeper than this are shown at the end instead of in their place. */
const MAX_DEPTH = 20;

/** Lays a conversation out for reading. Every thread is shown once, whatever shape the tree has; blocks without content are left out. */
export function threadView(state: SessionConversationState): ThreadView {
  const shown = new Set<SubagentState>();
  const layOut = (blocks: BlockList, depth: number): ShownBlock[] => {
    const calls = new Map<string, ToolUseBlock>();
    const result: ShownBlock[] = [];
    for (const block of blocks) {
      if (isBlank(block)) continue;
      if (block.type === 'tool_use') {
        calls.set(block.toolUseId, block);
        result.push({ block, call: describeToolUse(block) });
      } else if (block.type === 'tool_result') {
        const call = calls.get(block.toolUseId);
        const isNext = call !== undefined && result.at(-1)?.block === call;
        result.push(call && !isNext ? { block, call: describeToolUse(call) } : { block });
      } else {
        const subagent = block.type === 'subagent' ? findSubagent(state, block.toolUseId) : undefined;
        if (!subagent || depth >= MAX_DEPTH || shown.has(subagent)) result.push({ block });
        else {
          shown.add(subagent);
          result.push({ block, thread: { subagent, blocks: layOut(subagent.blocks, depth + 1) } });
        }
      }
    }
    return result;
  };
  const blocks = layOut(state.blocks, 0);
  const detached: Thread[] = [];
  for (const subagent of state.subagents) {
    if (shown.has(subagent)) continue;
    shown.add(subagent);
    detached.push({ subagent, blocks: layOut(subagent.blocks, 0) });
  }
  return { blocks, detached };
}

/** Whether a block has nothing to show: empty thinking, blank texts, notices without a text. */
function isBlank(block: ConversationBlock): boolean {
  switch (block.type) {
    case 'thinking':
    case 'user_message':
    case 'assistant_text':
      return block.content.trim() === '' && !block.attachments?.length;
    case 'system':
    case 'skill':
    case 'error':
      return describeNotice(block).text === '' && block.type !== 'error';
    default:
      return false;
  }
}

/** Whether a notice is folded: it is long, or it is of interest only to those who look for it. */
export function isFolded(block: NoticeBlock): boolean {
  const { text } = describeNotice(block);
  if (text === '') return false;
  return (
    block.type === 'compaction' ||
    block.machinery === true ||
    /caveat|reminder/.test(block.subtype ?? '') ||
    isLong(text)
  );
}

/** Texts from this length on, or with so many lines, are folded. */
const LONG = { characters: 1500, lines: 24 };

/** Whether a text is folded, so that the conversation around it can be read. */
export function isLong(text: string): boolean {
  return text.length > LONG.characters || lineCount(text) > LONG.lines;
}

export function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < text.length - 1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** How long a folded text is, in words. */
export function lengthOf(text: string): string {
  const lines = lineCount(text);
  if (lines > 1) return `${number(lines)} lines`;
  return `${number(text.length)} characters`;
}

/** Data as indented JSON, or the text itself. */
export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(keep(value), null, 2) ?? '');
}

/** A time for people: to the second, in the zone it was written in, without the day that the head names; nothing when it is none. */
export function readableTime(timestamp: string, day: string = ''): string {
  const [, date, time] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(timestamp) ?? [];
  if (time === undefined) return '';
  return date === day ? time : `${date} ${time}`;
}

/** Data of a few short values as one line: `timeout: 5000, replace_all: true`. */
export function shortData(data: unknown): string | undefined {
  const entries = Object.entries(asObject(data) ?? {});
  if (entries.length === 0 || entries.some(([, value]) => !/^(?:string|number|boolean)$/.test(typeof value)))
    return undefined;
  const line = entries.map(([name, value]) => `${name}: ${value}`).join(', ');
  return line.length <= 120 && !line.includes('\n') ? line : undefined;
}

/** What a subagent's thread is called. */
export function threadName({ subagent }: Thread): string {
  return `Subagent ${subagent.name ?? subagent.toolUseId}`;
}

/** Without empty lines around it, and with the spaces of its first line. By hand: a pattern would look at every run of lines again and again. */
export function withoutOuterLines(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && (text[from] === '\n' || text[from] === '\r')) from++;
  while (to > from && (text[to - 1] === '\n' || text[to - 1] === '\r')) to--;
  return text.slice(from, to);
}
