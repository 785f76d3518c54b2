/** Reads the content of Anthropic messages: a text, or a list of blocks. */
import type { Attachment } from '../../conversation/blocks.ts';
import { base64OfText } from '../../formats/base64.ts';
import { attachment } from '../block-base.ts';
import { asList, asName, asObject, asText, type Json, keep } from '../json-access.ts';
import type { LineRole } from './branches.ts';
import type { ClaudeEntry } from './entry.ts';
import type { ReturnedFields } from './skim-line.ts';
import { classifyUserText } from './user-text.ts';

/** The tools that start a subagent: `Task` before 2.1.63, `Agent` since. */
export function isAgentTool(name: string): boolean {
  return name === 'Task' || name === 'Agent';
}

/** The blocks of a message; a plain text is one text block, and values that are not objects are dropped. */
export function contentBlocks(content: unknown): readonly Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  const blocks = asList(content);
  const isObject = (block: unknown): block is Json => asObject(block) !== undefined;
  return blocks.every(isObject) ? blocks : blocks.filter(isObject);
}

/** The texts of a content, one per line. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .flatMap((block) => (asObject(block)?.type === 'text' ? (asText(asObject(block)?.text) ?? []) : []))
    .join('\n');
}

/** The parts of a tool's result; `undefined` when all of them are texts. */
export function otherParts(content: unknown): readonly unknown[] | undefined {
  const blocks = asList(content);
  if (blocks.every((block) => asObject(block)?.type === 'text')) return undefined;
  return blocks.map(keep);
}

/** An image or a document as an attachment. */
export function attachmentOf(block: Json): Attachment | undefined {
  if (block.type !== 'image' && block.type !== 'document') return undefined;
  const source = asObject(block.source);
  const text = asText(source?.data);
  const data = text !== undefined && source?.type === 'text' ? base64OfText(text) : (text ?? asText(source?.url));
  const mediaType = asName(source?.media_type) ?? (block.type === 'image' ? 'image/*' : 'application/octet-stream');
  return attachment({ mediaType, data, filename: asName(block.title) });
}

/** The output of a subagent: the parts of its result that the harness did not write, else the text for the model. */
export function subagentOutput(toolUseResult: ReturnedFields | undefined, content: unknown): string {
  const parts = toolUseResult?.content;
  if (!Array.isArray(parts)) return contentText(content);
  const notes = typeof toolUseResult?.harnessNoteCount === 'number' ? toolUseResult.harnessNoteCount : 0;
  const tail = typeof toolUseResult?.harnessTailCount === 'number' ? toolUseResult.harnessTailCount : 0;
  return contentText(parts.slice(Math.max(0, notes), parts.length - Math.max(0, tail)));
}

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
