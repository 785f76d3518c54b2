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

const BEGINNINGS: readonly (readonly [string, UserText])[] = [
  ['<task-notification>', { kind: 'notification' }],
  ['Base directory for this skill:', { kind: 'skill' }],
  ['<command-name>', { kind: 'notice', subtype: 'command' }],
  ['<command-message>', { kind: 'notice', subtype: 'command' }],
  ['<local-command-stdout>', { kind: 'notice', subtype: 'command_output' }],
  ['<local-command-stderr>', { kind: 'notice', subtype: 'command_output' }],
  ['<local-command-caveat>', { kind: 'notice', subtype: 'command_caveat' }],
  ['<bash-input>', { kind: 'notice', subtype: 'command' }],
  ['<bash-stdout>', { kind: 'notice', subtype: 'command_output' }],
  ['<bash-stderr>', { kind: 'notice', subtype: 'command_output' }],
  ['<system-reminder>', { kind: 'notice', subtype: 'reminder' }],
  ['[Request interrupted by user', { kind: 'notice', subtype: 'interrupted' }],
];

/** Classifies a text with the user's role. */
export function classifyUserText(text: string, isMeta: boolean): UserText {
  const start = text.search(/\S/);
  if (start >= 0) {
    for (const [beginning, kind] of BEGINNINGS) if (text.startsWith(beginning, start)) return kind;
  }
  return isMeta ? { kind: 'notice', subtype: 'meta' } : PROMPT;
}

/** The fields of a `<task-notification>` about a background task. */
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
    taskId: insideTag(text, 'task-id'),
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
