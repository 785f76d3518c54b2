/** What a notice says, in words. */
import { isRecord } from '../core/log/message-problem.ts';
import type { NoticeBlock } from './blocks.ts';

/** A notice in words. */
export interface NoticeDescription {
  /** Its kind and what it is about: `Error: api error`. */
  readonly name: string;
  /** Its text; empty if it has none. */
  readonly text: string;
}

const KINDS: Readonly<Record<string, string>> = {
  system: 'Notice',
  error: 'Error',
  skill: 'Skill',
  compaction: 'Compaction',
};

/** Describes a notice: the text of an error may be in its data, and the commands of Claude Code are in tags. */
export function describeNotice(block: NoticeBlock): NoticeDescription {
  const kind = KINDS[block.type] ?? block.type;
  return {
    name: block.subtype === undefined ? kind : `${kind}: ${block.subtype.replaceAll('_', ' ')}`,
    text: textOf(block),
  };
}

function textOf(block: NoticeBlock): string {
  if (block.content.trim() !== '') return withoutWrapping(block.content.trim());
  if (block.type !== 'error' || !isRecord(block.data)) return '';
  const { message, error } = block.data;
  const candidates = [message, isRecord(error) ? error.message : undefined, error];
  return candidates.find((text): text is string => typeof text === 'string' && text !== '') ?? '';
}

/** Commands that people gave to Claude Code and what they printed are wrapped in tags. */
function withoutWrapping(text: string): string {
  const [, command] = /^<command-(?:name|message)>[\s\S]{0,300}?(\/[^<\s]{1,100})<\/command-/.exec(text) ?? [];
  if (command !== undefined) return `${command} ${inTag(text, 'command-args').trim()}`.trim();
  return /^<(local-command-[a-z]{1,20})>([\s\S]*)<\/\1>$/.exec(text)?.[2]?.trim() ?? text;
}

/** The text of the first tag of this name. By hand: a pattern would read to the end for every tag without an end. */
function inTag(text: string, name: string): string {
  const start = text.indexOf(`<${name}>`);
  const end = text.indexOf(`</${name}>`, start);
  return start < 0 || end < 0 ? '' : text.slice(start + name.length + 2, end);
}
