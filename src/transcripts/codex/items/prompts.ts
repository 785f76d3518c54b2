/**
 * Decides which messages with the user's role a person wrote. New files say it in the message. In older ones an event beside the message
 * repeats a person's text (`user_message`, or the item `UserMessage`), usually on the next line:
 *
 *     message ─▶ held ─┬─ an event ──────▶ a prompt; if the start of the text is Codex's, only when the event has the same text
 *                      └─ any other line ▶ Codex's own text, if events were seen before or its start says so
 *
 * An event may differ from its message in spaces and in what a program adds to a prompt, so the place counts, too.
 */

import { asList, asName, asObject, asText, type Json, parseJson } from '../../json-access.ts';
import { type Part, textOfParts, withoutImageTags } from './content.ts';

/** A message with the user's role. */
export interface UserMessage {
  readonly id: string;
  readonly timestamp: string;
  readonly parts: readonly Part[];
}

/** Receives a message when it is decided who wrote it. */
export type OnUserMessage = (message: UserMessage, kind: UserTextKind) => void;

export class Prompts {
  readonly #onMessage: OnUserMessage;
  #held: UserMessage | undefined;
  /** An event whose message has not been seen. */
  #announced: UserMessage | undefined;
  /** The text of a prompt whose event has not been seen. */
  #shown: string | undefined;
  /** That prompt is the newest line that is shown. */
  #isNewest = false;
  #hasEvents = false;

  constructor(onMessage: OnUserMessage) {
    this.#onMessage = onMessage;
  }

  /** A message of the model's history. `kinds`: what Codex wrote about each of its parts. */
  addMessage(message: UserMessage, kinds: readonly string[] | undefined): void {
    this.#decideHeld();
    if (kinds && kinds.length > 0) {
      const isOurs = (_: Part, index: number): boolean => isUserKind(kinds[index] ?? kinds.at(-1) ?? '');
      const typed = message.parts.filter(isOurs);
      if (typed.length > 0) this.#show({ ...message, parts: typed });
      else this.#onMessage(message, subtypeOfKind(kinds[0] ?? ''));
      return;
    }
    if (this.#announced && sameText(this.#announced, message)) this.#show(message);
    else this.#held = message;
  }

  /** An event that repeats what a person wrote. */
  addEvent(event: UserMessage): void {
    this.#hasEvents = true;
    const text = comparableText(event);
    const held = this.#held;
    if (held && (sameText(held, event) || injectedKind(textOfParts(held.parts)) === undefined)) {
      this.#held = undefined;
      this.#onMessage(cleaned(held), 'prompt');
    } else if (this.#shown === text || this.#isNewest) {
      this.#shown = undefined;
      this.#isNewest = false;
    } else {
      this.flush();
      this.#announced = event;
    }
  }

  /** Decides what is open: a line that is neither message nor event follows. */
  flush(): void {
    this.#decideHeld();
    this.#isNewest = false;
    const announced = this.#announced;
    this.#announced = undefined;
    if (announced) this.#onMessage(announced, 'prompt');
  }

  #show(message: UserMessage): void {
    const isAnnounced = this.#announced !== undefined && sameText(this.#announced, message);
    if (!isAnnounced) this.#shown = comparableText(message);
    this.#isNewest = !isAnnounced;
    this.#announced = undefined;
    this.#onMessage(cleaned(message), 'prompt');
  }

  #decideHeld(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    const injected = injectedKind(textOfParts(held.parts));
    if (injected !== undefined) this.#onMessage(held, injected);
    else if (this.#hasEvents) this.#onMessage(held, 'context');
    else this.#onMessage(cleaned(held), 'prompt');
  }
}

function cleaned(message: UserMessage): UserMessage {
  return { ...message, parts: withoutImageTags(message.parts) };
}

function sameText(a: UserMessage, b: UserMessage): boolean {
  return comparableText(a) === comparableText(b);
}

/** The text without spaces at the ends of its parts: events join parts in other ways than messages do. */
function comparableText({ parts }: UserMessage): string {
  return withoutImageTags(parts)
    .flatMap((part) => (part.type === 'text' ? part.text.trim() : []))
    .join('');
}

/** Codex writes its own texts with the user's role, too: instructions, the environment, notices. `prompt`: a person wrote it. Otherwise the subtype of the block that shows it. */
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
function subtypeOfKind(kind: string): string {
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
