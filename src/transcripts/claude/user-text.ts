import { asList, asName, asObject, asText, type Json } from '../json-access.ts';

/**
 * Classifies texts with the user's role. The harness writes commands, notifications and reminders with that role, too; the start of
 * a text decides which it is.
 */

type UserText =
  | { readonly kind: 'prompt' }
  | { readonly kind: 'notification' }
  | { readonly kind: 'skill' }
  /** Shown as a system block of this subtype. */
  | { readonly kind: 'notice'; readonly subtype: string };

const PROMPT: UserText = { kind: 'prompt' };
const NOTIFICATION: UserText = { kind: 'notification' };
const notice = (subtype: string): UserText => ({ kind: 'notice', subtype });

/** What a text is that starts with this tag. */
const TAGS: ReadonlyMap<string, UserText> = new Map([
  ['task-notification', NOTIFICATION],
  ['agent-notification', NOTIFICATION],
  ['bash-notification', NOTIFICATION],
  ['command-name', notice('command')],
  ['command-message', notice('command')],
  ['bash-input', notice('command')],
  ['local-command-stdout', notice('command_output')],
  ['local-command-stderr', notice('command_output')],
  ['bash-stdout', notice('command_output')],
  ['bash-stderr', notice('command_output')],
  ['local-command-caveat', notice('command_caveat')],
  ['system-reminder', notice('reminder')],
  ['teammate-message', notice('teammate')],
  ['ide_opened_file', notice('context')],
  ['ide_selection', notice('context')],
  ['user-prompt-submit-hook', notice('context')],
  ['user-memory-input', notice('memory')],
]);

const BEGINNINGS: readonly (readonly [string, UserText])[] = [
  ['Base directory for this skill:', { kind: 'skill' }],
  ['[Request interrupted by user', notice('interrupted')],
];

/** Tags that the harness puts before a prompt, in the same text. */
const CONTEXT: ReadonlySet<string> = new Set([
  'system-reminder',
  'ide_opened_file',
  'ide_selection',
  'user-prompt-submit-hook',
]);

/** Classifies a text with the user's role. */
export function classifyUserText(text: string, isMeta: boolean): UserText {
  const typed = typedText(text);
  const tag = leadingTag(typed === '' ? text : typed, 0);
  const known = tag === undefined ? undefined : TAGS.get(tag);
  if (known) return known;
  const start = typed.search(/\S/);
  for (const [beginning, kind] of start < 0 ? [] : BEGINNINGS) if (typed.startsWith(beginning, start)) return kind;
  return isMeta ? notice('meta') : PROMPT;
}

/** A text without the contexts that the harness put before it; empty when there is nothing else. */
export function typedText(text: string): string {
  let start = 0;
  while (true) {
    const tag = leadingTag(text, start);
    if (tag === undefined || !CONTEXT.has(tag)) break;
    const close = text.indexOf(`</${tag}>`, start);
    if (close < 0) return '';
    start = close + tag.length + 3;
  }
  return start === 0 ? text : text.slice(start).trim();
}

/** The name of the tag that a text starts with, white space aside. */
function leadingTag(text: string, start: number): string | undefined {
  const pattern = /\s*<([a-z_-]{1,40})(?=[\s>])/y;
  pattern.lastIndex = start;
  return pattern.exec(text)?.[1];
}

/** A command or its output as a person would write it: `/compact now`, not the tags around its parts. Other texts as they are. */
export function readableText(text: string): string {
  const tag = leadingTag(text, 0);
  const kind = tag === undefined ? undefined : TAGS.get(tag);
  if (tag === undefined || kind?.kind !== 'notice') return text;
  if (kind.subtype === 'command') {
    if (tag === 'bash-input') return `! ${(insideTag(text, tag) ?? '').trim()}`;
    const name = insideTag(text, 'command-name') ?? insideTag(text, 'command-message') ?? '';
    return `${name.trim()} ${(insideTag(text, 'command-args') ?? '').trim()}`.trim();
  }
  if (kind.subtype !== 'command_output' && kind.subtype !== 'command_caveat') return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal start with this character
  const plain = text.replaceAll(/\u001b\[[0-9;]*m/g, '');
  return plain.replaceAll(/<\/?(?:local-command|bash)-(?:stdout|stderr|caveat)>/g, '\n').trim();
}

/** The fields of a notification about a background task. */
export interface TaskNotification {
  readonly taskId: string | undefined;
  readonly toolUseId: string | undefined;
  readonly status: string | undefined;
  readonly result: string | undefined;
  readonly durationMs: number | undefined;
}

export function parseTaskNotification(text: string): TaskNotification {
  // After the result, which is the agent's text and may contain anything.
  const duration = Number(insideTag(text.slice(text.lastIndexOf('</result>') + 1), 'duration_ms') ?? Number.NaN);
  return {
    taskId: insideTag(text, 'task-id') ?? insideTag(text, 'agent-id'),
    toolUseId: insideTag(text, 'tool-use-id'),
    status: insideTag(text, 'status'),
    result: insideTag(text, 'result'),
    durationMs: Number.isFinite(duration) && duration >= 0 ? duration : undefined,
  };
}

/** The text between the first opening and the last closing tag: a result may itself contain tags. */
function insideTag(text: string, tag: string): string | undefined {
  const open = text.indexOf(`<${tag}>`);
  if (open < 0) return undefined;
  const start = open + tag.length + 2;
  const end = tag === 'result' ? text.lastIndexOf(`</${tag}>`) : text.indexOf(`</${tag}>`, start);
  return end < start ? undefined : text.slice(start, end);
}

/** For an error of the API without a text. */
export const API_ERROR = 'API error';

/** The text of a notice; empty when it says nothing. */
export function noticeText(line: Json): string {
  const content = asText(line.content) ?? '';
  if (content.trim() !== '') return readableText(content);
  const errors = asList(line.hookErrors).flatMap((error) => asText(error) ?? []);
  return [...errors, asText(line.stopReason) ?? ''].filter((text) => text.trim() !== '').join('\n');
}

/**
 * The text of an API error. The line holds the error of the client, which holds the response's body, which holds the error of the API;
 * or the error of the connection.
 */
export function apiErrorText(line: Json): string {
  const content = asText(line.content) ?? '';
  if (content.trim() !== '') return content;
  const error = asObject(line.error);
  const cause = asObject(line.cause) ?? asObject(error?.cause);
  const body = asObject(error?.error);
  const status = typeof error?.status === 'number' ? `${API_ERROR} ${error.status}` : undefined;
  const text =
    asName(asObject(body?.error)?.message) ??
    asName(body?.message) ??
    asName(error?.message) ??
    asName(error?.formatted) ??
    asName(line.error) ??
    asName(cause?.message) ??
    asName(cause?.code);
  if (text === undefined) return status ?? API_ERROR;
  return status === undefined || text.includes(String(error?.status)) ? text : `${status}: ${text}`;
}
