/** Writes what is not a call: texts, thoughts, prompts, Codex's own texts, compactions, errors, and content of unknown types. */
import type { BlockMessage, NoticeBlock } from '../../../conversation/blocks.ts';
import { attachment, blockBase, unknownBlock } from '../../block-base.ts';
import { asName, asObject, asText, type Json } from '../../json-access.ts';
import { type Part, partsOf, textOfParts } from '../items/content.ts';
import { agentOutcome, itemType } from '../items/items.ts';
import { parseNotification, type UserMessage, type UserTextKind } from '../items/prompts.ts';
import type { RolloutMeta } from '../rollouts/rollout-line.ts';
import type { Shared } from './agents.ts';

/** Events and items of bookkeeping: counted, not shown. */
const BOOKKEEPING: ReadonlySet<string> = new Set([
  'response_item/additional_tools',
  'response_item/compaction',
  'response_item/compaction_trigger',
  'response_item/context_compaction',
  'response_item/ghost_snapshot',
  ...`agent_reasoning_raw_content agent_reasoning_section_break background_event collab_agent_interaction_end
    collab_close_end collab_resume_end exec_command_begin image_generation_end item_started mcp_tool_call_begin
    patch_apply_begin plan_update raw_response_item session_configured shutdown_complete stream_error
    thread_goal_updated thread_name_updated thread_rolled_back thread_settings_applied turn_diff
    web_search_begin web_search_end`
    .split(/\s+/)
    .map((type) => `event_msg/${type}`),
]);

/** Notices for people. The others are for operators: the instructions and the surroundings that Codex sent to the model. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(['turn_aborted', 'subagent_notification', 'shell_command', 'skill']);

/** Returns the response that a block belongs to, when the block is written. */
type MessageOf = () => BlockMessage;

/** A text or a thought that an event holds. */
interface Announced {
  readonly id: string;
  readonly type: 'assistant_text' | 'thinking';
  readonly content: string;
  readonly messageOf: MessageOf;
  readonly at: string;
}

export class AsideWriter {
  readonly #shared: Shared;
  readonly #conversationId: string;
  readonly #meta: RolloutMeta | undefined;
  /** What an event announced and no item of the history repeated yet, by its type and its text. */
  readonly #announced = new Map<string, Announced>();
  /** What was shown in this turn, in the same way. */
  readonly #shown = new Set<string>();
  /** A compaction was shown; its other lines are about the same. */
  #isCompacted = false;

  constructor(shared: Shared, conversationId: string, meta: RolloutMeta | undefined) {
    this.#shared = shared;
    this.#conversationId = conversationId;
    this.#meta = meta;
  }

  /** A text of the assistant, as an item or as part of the history; both have the same id. */
  addText(id: string, parts: readonly Part[], messageOf: MessageOf, at: string): void {
    const content = textOfParts(parts);
    if (content.trim() === '') return;
    this.#repeat('assistant_text', content);
    this.#isCompacted = false;
    const message = messageOf();
    const known = this.#shared.writer.find(this.#conversationId, id);
    if (known?.type === 'assistant_text' && known.content === content) return;
    const base = blockBase(id, this.#conversationId, at, message);
    this.#shared.writer.upsert({ ...base, type: 'assistant_text', content });
  }

  /** An event of older files that repeats a text or a thought of the history. It is shown from the event only if no item has it. */
  announce(announced: Announced): void {
    const key = `${announced.type} ${announced.content}`;
    if (announced.content.trim() !== '' && !this.#shown.delete(key)) this.#announced.set(key, announced);
  }

  #repeat(type: Announced['type'], content: string): void {
    const key = `${type} ${content}`;
    if (!this.#announced.delete(key)) this.#shown.add(key);
  }

  /** Shows what was announced and no item repeated: the turn is over. */
  flush(): void {
    const announced = [...this.#announced.values()];
    this.#announced.clear();
    this.#shown.clear();
    for (const { id, type, content, messageOf, at } of announced) {
      this.#shared.writer.upsert({ ...blockBase(id, this.#conversationId, at, messageOf()), type, content });
    }
  }

  /** A thought, as an item or as part of the history: the texts of its summary. Most have none: they are not shown. */
  addThought(id: string, texts: readonly string[], messageOf: MessageOf, at: string): void {
    const content = texts.join('\n');
    if (content.trim() === '') return;
    for (const text of texts) this.#repeat('thinking', text); // each has an event of its own
    const base = blockBase(id, this.#conversationId, at, messageOf());
    const known = this.#shared.writer.find(this.#conversationId, id);
    if (known?.type === 'thinking' && known.content === content) return;
    this.#shared.writer.upsert({ ...base, type: 'thinking', content });
  }

  addUserMessage({ id, timestamp, parts }: UserMessage, kind: UserTextKind): void {
    const content = textOfParts(parts);
    const attachments = parts.flatMap((part) => (part.type === 'text' ? [] : [attachment(part)]));
    if (content.trim() === '' && attachments.length === 0) return;
    this.#isCompacted &&= kind !== 'prompt';
    if (kind === 'prompt') {
      const base = blockBase(id, this.#conversationId, timestamp);
      const files = attachments.length > 0 && { attachments };
      this.#shared.writer.upsert({ ...base, type: 'user_message', content, ...files });
      return;
    }
    const notification = kind === 'subagent_notification' ? parseNotification(content) : undefined;
    const end = notification && agentOutcome(notification.status);
    if (notification && end && this.#shared.agents.end(notification.agent, end, timestamp)) return;
    if (kind === 'skill') this.#notice(id, { type: 'skill', content }, timestamp);
    else this.#notice(id, { type: 'system', subtype: kind, content, ...machinery(kind) }, timestamp);
  }

  addInstructions(id: string, parts: readonly Part[], at: string): void {
    const content = textOfParts(parts);
    if (content !== '') this.#notice(id, { type: 'system', subtype: 'instructions', content, machinery: true }, at);
  }

  /** The summary of a compaction: the model wrote it as a message, for itself. */
  addSummary(id: string, parts: readonly Part[], message: BlockMessage, at: string): void {
    this.#isCompacted = true;
    const base = blockBase(id, this.#conversationId, at, message);
    this.#shared.writer.upsert({ ...base, type: 'compaction', content: textOfParts(parts) });
  }

  /** A compaction. Its lines (the summary, the new history, the item) are one block. */
  addCompaction(id: string, summary: string | undefined, at: string): void {
    const isKnown = this.#isCompacted;
    this.#isCompacted = true;
    if (!isKnown) this.#notice(id, { type: 'compaction', content: summary ?? '' }, at);
  }

  /** A text that one agent sent to another. A subagent's last one is its result; a task is its prompt. */
  addAgentMessage(id: string, item: Json, at: string): void {
    const { payload, isFinal } = readAgentMessage(textOfParts(partsOf(item.content)));
    const author = asName(item.author) ?? '';
    const recipient = asName(item.recipient) ?? '';
    const end = { status: 'completed', output: payload } as const;
    if (isFinal && this.#shared.agents.end(author, end, at)) return;
    const isTask = this.#meta?.agentPath !== undefined && recipient === this.#meta.agentPath;
    if (isTask && payload !== '') {
      const base = blockBase(id, this.#conversationId, at);
      this.#shared.writer.upsert({ ...base, type: 'user_message', content: payload });
      return;
    }
    const data = { author, recipient };
    this.#notice(id, { type: 'system', subtype: 'agent_message', content: payload, data }, at);
  }

  addError(id: string, content: string, at: string): void {
    const base = blockBase(id, this.#conversationId, at, undefined, 'error');
    this.#shared.writer.upsert({ ...base, type: 'error', content });
  }

  /** An error after which Codex tries again. */
  addRetry(id: string, content: string, at: string): void {
    this.#notice(id, { type: 'system', subtype: 'retry', content }, at);
  }

  /** An item of the model's history of a type that has no method of its own. */
  addOther(id: string, kind: string, item: Json, at: string): void {
    if (!BOOKKEEPING.has(kind)) this.addUnknown(id, kind, item, at);
  }

  addEvent(id: string, kind: string, event: Json, at: string): void {
    if (kind === 'event_msg/warning') {
      this.#notice(id, { type: 'system', subtype: 'warning', content: asText(event.message) ?? '' }, at);
    } else if (REVIEW.has(kind)) {
      const content = asText(event.user_facing_hint) ?? asText(asObject(event.review_output)?.overall_explanation);
      this.#notice(id, { type: 'system', subtype: kind.slice('event_msg/'.length), content: content ?? '' }, at);
    } else this.addOther(id, kind, event, at);
  }

  /** An item that is not about a call. */
  addItem(id: string, item: Json, at: string): void {
    const type = itemType(item);
    if (type === 'image_generation') return; // the history has it
    if (type === 'plan' || type === 'hook_prompt') {
      const content = asText(item.text) ?? textOfParts(partsOf(item.fragments));
      this.#notice(id, { type: 'system', subtype: type, content }, at);
    } else this.addUnknown(id, `item/${asText(item.type) ?? ''}`, item, at);
  }

  /** Keeps content of an unknown type unchanged (D49). */
  addUnknown(id: string, sourceType: string, value: Json, at: string): void {
    const base = blockBase(id, this.#conversationId, at);
    this.#shared.writer.upsert(unknownBlock(base, sourceType, value, this.#shared.writer));
  }

  #notice(
    id: string,
    notice: Pick<NoticeBlock, 'type' | 'subtype' | 'content' | 'data' | 'machinery'>,
    at: string,
  ): void {
    this.#shared.writer.upsert({ ...blockBase(id, this.#conversationId, at), ...notice });
  }
}

const REVIEW: ReadonlySet<string> = new Set(['event_msg/entered_review_mode', 'event_msg/exited_review_mode']);

function machinery(kind: UserTextKind): { readonly machinery?: true } {
  return FOR_PEOPLE.has(kind) ? {} : { machinery: true };
}

/** The text of a message between agents without its header, and whether it is the agent's last one. */
export function readAgentMessage(text: string): { readonly payload: string; readonly isFinal: boolean } {
  const header = /^Message Type: (\w+)\n(?:[A-Z][\w ]{0,40}:[^\n]*\n){0,6}?Payload:\s?/.exec(text);
  if (header === null) return { payload: text, isFinal: false };
  return { payload: text.slice(header[0].length), isFinal: header[1] === 'FINAL_ANSWER' };
}
