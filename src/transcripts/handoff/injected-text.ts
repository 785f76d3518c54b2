/**
 * Texts with the user's role that the agent's program wrote: reminders, instructions, the environment. The agent that continues writes
 * its own. Notes that say what happened stay: that the user interrupted, or that a background task ended.
 */

const TAGS: ReadonlySet<string> = new Set([
  'system-reminder',
  'environment_context',
  'user_instructions',
  'permissions instructions',
  'turn_aborted',
  'local-command-caveat',
  'local-command-stdout',
  'local-command-stderr',
  'ide_opened_file',
  'ide_selection',
  'user-prompt-submit-hook',
  'user-memory-input',
]);

const WHOLE = /^\s*# AGENTS\.md instructions for [^\n]*\n\s*<INSTRUCTIONS>/;

/** The text without what the program put before it; empty when all of it is the program's. */
export function withoutInjected(text: string): string {
  if (WHOLE.test(text)) return '';
  let at = 0;
  for (;;) {
    const start = text.slice(at, at + 100).search(/\S/);
    const tag = start < 0 ? undefined : tagAt(text, at + start);
    if (tag === undefined) return at === 0 ? text : text.slice(at).trimStart();
    const closing = `</${tag}>`;
    const end = text.indexOf(closing, at);
    if (end < 0) return '';
    at = end + closing.length;
  }
}

function tagAt(text: string, at: number): string | undefined {
  const name = /^<([a-z_-]+(?: instructions)?)>/.exec(text.slice(at, at + 50))?.[1];
  return name !== undefined && TAGS.has(name) ? name : undefined;
}
