/**
 * Classifies texts with the user's role. Codex writes its own texts with that role, too: instructions, the environment, notices. New
 * files name the kind of each part of a message; in older files an event repeats what a person wrote.
 */
import { asList, asName, asObject, asText, type Json, parseJson } from '../../json-access.ts';

/** `prompt`: a person wrote it. Otherwise the subtype of the block that shows it. */
export type UserTextKind = 'prompt' | (string & {});

const BEGINNINGS: readonly (readonly [string, UserTextKind])[] = [
  ['<environment_context>', 'environment_context'],
  ['# AGENTS.md instructions', 'instructions'],
  ['<user_instructions>', 'instructions'],
  ['<INSTRUCTIONS>', 'instructions'],
  ['<permissions instructions>', 'instructions'],
  ['<turn_aborted>', 'turn_aborted'],
  ['<subagent_notification>', 'subagent_notification'],
  ['<user_shell_command>', 'shell_command'],
  ['<skill>', 'skill'],
  ['Another language model started to solve this problem', 'compaction_summary'],
];

/** The kind of a text, from how it starts; `undefined` when it may be a person's. */
export function injectedKind(text: string): UserTextKind | undefined {
  const start = text.search(/\S/);
  if (start < 0) return undefined;
  for (const [beginning, kind] of BEGINNINGS) if (text.startsWith(beginning, start)) return kind;
  return undefined;
}

/** The kinds that Codex wrote for the parts of a message; `undefined` when it wrote none. */
export function contentKinds(message: Json): readonly string[] | undefined {
  const passthrough = asObject(message.internal_chat_message_metadata_passthrough);
  const kinds = passthrough?.content_item_kinds;
  return Array.isArray(kinds) ? asList(kinds).map((kind) => asText(kind) ?? '') : undefined;
}

/** Whether a kind is that of something a person sent: `user.text`, `user.image`. */
export function isUserKind(kind: string): boolean {
  return kind.startsWith('user.');
}

/** The subtype of a block for a kind that Codex wrote: `environments.environment_context` is `environment_context`. */
export function subtypeOfKind(kind: string): string {
  return kind.slice(kind.lastIndexOf('.') + 1);
}

/** What a `<subagent_notification>` reports; `undefined` when the text is none. */
export function parseNotification(text: string): { readonly agent: string; readonly status: unknown } | undefined {
  const inside = /<subagent_notification>([\s\S]*)<\/subagent_notification>/.exec(text)?.[1];
  if (inside === undefined) return undefined;
  const parsed = asObject(parseJson(inside));
  const agent = asName(parsed?.agent_path) ?? asName(parsed?.agent_id);
  return agent === undefined ? undefined : { agent, status: parsed?.status };
}
