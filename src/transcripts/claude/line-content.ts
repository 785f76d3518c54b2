/** Questions about the content of a line that decide what happens to the line. */
import { asName, asObject, type Json } from '../json-access.ts';
import type { LineRole } from './branches.ts';
import { contentBlocks, contentText } from './content.ts';
import type { ClaudeEntry } from './entry.ts';
import { classifyUserText } from './user-text.ts';

/** The notices that the harness writes before a prompt. */
const LEADS: ReadonlySet<string> = new Set(['command', 'command_output', 'command_caveat', 'meta']);
/** The first prompt of a thread that the program starts to warm up its agents. */
const WARMUP = 'Warmup';

/** The role of an entry of the main conversation in its tree. Lines with results have the role of those. */
export function roleOf(entry: ClaudeEntry): Exclude<LineRole, 'result'> {
  if (entry.type === 'assistant') return 'response';
  if (entry.isCompactSummary || entry.subtype === 'compact_boundary') return 'compaction';
  if (entry.type !== 'user') return 'aside';
  const kind = classifyUserText(contentText(entry.message?.content), entry.isMeta);
  if (kind.kind === 'prompt') return 'prompt';
  return kind.kind === 'notice' && LEADS.has(kind.subtype) ? 'lead' : 'aside';
}

/** The ids of the calls whose results a line holds. */
export function resultsIn(entry: ClaudeEntry): readonly string[] {
  const content = entry.message?.content;
  const ids: string[] = [];
  for (const block of Array.isArray(content) ? content : []) {
    const id = asObject(block)?.type === 'tool_result' ? asName((block as Json).tool_use_id) : undefined;
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

/** The ids of the calls in a line. */
export function calledBy(entry: ClaudeEntry): readonly string[] {
  if (entry.type !== 'assistant') return [];
  return contentBlocks(entry.message?.content).flatMap((block) =>
    block.type === 'tool_use' ? (asName(block.id) ?? []) : [],
  );
}

/** Whether a line is the prompt with which the program warms up an agent. */
export function isWarmup(entry: ClaudeEntry): boolean {
  return entry.type === 'user' && contentText(entry.message?.content).trim() === WARMUP;
}
