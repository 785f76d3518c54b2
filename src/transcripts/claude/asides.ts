/** Converts everything but the assistant's messages and results: prompts, notices, compactions, and unknown entries. */
import type { Attachment, BlockBase, NoticeBlock } from '../../conversation/blocks.ts';
import { blockBase, unknownBlock } from '../block-base.ts';
import type { BlockWriter } from '../block-writer.ts';
import { asList, asObject, asText, type Json } from '../json-access.ts';
import { attachmentOf, contentText } from './content.ts';
import type { ClaudeEntry } from './entry.ts';
import {
  apiErrorText,
  classifyUserText,
  noticeText,
  parseTaskNotification,
  readableText,
  type TaskNotification,
  typedText,
} from './user-text.ts';

/** Lines of bookkeeping: counted, not shown. */
const BOOKKEEPING: ReadonlySet<string> = new Set(
  `progress file-history-snapshot file-history-delta queue-operation summary ai-title custom-title last-prompt mode
  permission-mode cost-state tools-used atis-latch api-request api-request-shape api-request-blob pr-link
  bridge-session agent-name agent-color agent-setting worktree-state content-replacement tag relocated frame-link
  isolation-latch artifact-autoreact-ledger marble-origami-commit marble-origami-snapshot started result`.split(/\s+/),
);

export class Asides {
  readonly #writer: BlockWriter;
  readonly #notify: (notification: TaskNotification, at: string) => boolean;
  /** Compactions without their summary yet, by the id of their line. */
  readonly #compactions = new Map<string, NoticeBlock>();
  #unnamed = 0;

  /** `notify` receives background tasks that ended and returns whether a subagent's block shows the end. */
  constructor(writer: BlockWriter, notify: (notification: TaskNotification, at: string) => boolean) {
    this.#writer = writer;
    this.#notify = notify;
  }

  /** Converts an entry that is neither the user's nor the assistant's. */
  add(entry: ClaudeEntry, conversationId: string): void {
    if (entry.type === 'system') this.#addSystem(entry, conversationId);
    else if (entry.type === 'attachment') this.#addAttachment(entry, conversationId);
    else if (!BOOKKEEPING.has(entry.type)) this.addUnknown(entry, conversationId);
  }

  /** Converts a text with the user's role: a prompt, or a text of the harness. */
  addUserText(entry: ClaudeEntry, conversationId: string, content: string, attachments: readonly Attachment[]): void {
    const base = blockBase(this.#idOf(entry, 'user'), conversationId, entry.timestamp);
    if (entry.isCompactSummary) {
      this.#addSummary(entry, { ...base, type: 'compaction', content });
      return;
    }
    const kind = classifyUserText(content, entry.isMeta);
    if (kind.kind === 'prompt') {
      this.#addPrompt(base, content, attachments);
      return;
    }
    if (kind.kind === 'notification' && this.#notify(parseTaskNotification(content), entry.timestamp)) return;
    const text = readableText(content);
    // An attachment that the harness added, such as a document that was read.
    const names = attachments.map(({ filename, mediaType }) => `[${filename ?? mediaType}]`);
    const shown = [text, ...names].filter((part) => part.trim() !== '').join('\n');
    if (shown === '') return;
    const data = attachments.length === 0 ? {} : { data: attachments };
    if (kind.kind === 'skill') this.#writer.upsert({ ...base, type: 'skill', content: shown, ...data });
    else {
      const subtype = kind.kind === 'notification' ? 'task_notification' : kind.subtype;
      this.#writer.upsert({ ...base, type: 'system', subtype, content: shown, ...data });
    }
  }

  /** Writes what the user typed; the contexts that the harness put before it are a block of their own. */
  #addPrompt(base: BlockBase, content: string, attachments: readonly Attachment[]): void {
    const typed = typedText(content);
    if (typed !== content && typed !== '') {
      const context = content.trimEnd().slice(0, -typed.length).trim();
      this.#writer.upsert({ ...base, id: `${base.id}:context`, type: 'system', subtype: 'context', content: context });
    }
    if (typed.trim() === '' && attachments.length === 0) return;
    this.#writer.upsert({
      ...base,
      type: 'user_message',
      content: typed,
      ...(attachments.length > 0 && { attachments }),
    });
  }

  /** Keeps a line of an unknown type unchanged (D49). */
  addUnknown(entry: ClaudeEntry, conversationId: string): void {
    const sourceType = entry.type === '' ? 'untyped' : entry.type;
    const base = blockBase(this.#idOf(entry, 'unknown'), conversationId, entry.timestamp);
    this.#writer.upsert(unknownBlock(base, sourceType, entry.raw, this.#writer));
  }

  /** Keeps a part of a user's message of an unknown type. */
  addUnknownPart(id: string, conversationId: string, block: Json, timestamp: string): void {
    const base = blockBase(id, conversationId, timestamp);
    this.#writer.upsert(unknownBlock(base, `content/${asText(block.type) ?? ''}`, block, this.#writer));
  }

  #addSystem(entry: ClaudeEntry, conversationId: string): void {
    const { raw, subtype, timestamp } = entry;
    const base = blockBase(this.#idOf(entry, 'system'), conversationId, timestamp);
    const isCompaction = subtype === 'compact_boundary';
    const isError = subtype === 'api_error';
    const content = isError ? apiErrorText(raw) : noticeText(raw);
    // Most lines of the harness say nothing: a turn's duration, hooks that ran without output.
    if (content.trim() === '' && !isCompaction) return;
    const details = isCompaction ? (raw.compactMetadata ?? raw.compact_metadata) : withoutEnvelope(raw);
    const data = details === undefined ? undefined : this.#writer.diagnostics.kept(details, base.id);
    const block: NoticeBlock = {
      ...base,
      type: isCompaction ? 'compaction' : isError ? 'error' : 'system',
      ...(subtype !== undefined && !isCompaction && { subtype }),
      content,
      ...(data !== undefined && { data }),
    };
    if (isCompaction) this.#compactions.set(block.id, block);
    this.#writer.upsert(block);
  }

  /** Adds the summary to the compaction's block: both are one block, at the place of the compaction. */
  #addSummary(entry: ClaudeEntry, summary: NoticeBlock): void {
    const boundary = this.#compactions.get(entry.parentUuid ?? '');
    if (boundary) this.#compactions.delete(boundary.id);
    this.#writer.upsert(boundary ? { ...boundary, content: summary.content } : summary, entry.timestamp);
  }

  /** Shows the one attachment that the user typed, while the agent worked; the others are bookkeeping. */
  #addAttachment(entry: ClaudeEntry, conversationId: string): void {
    const attachment = asObject(entry.raw.attachment);
    if (attachment?.type !== 'queued_command') return;
    const content = contentText(attachment.prompt);
    const files = asList(attachment.prompt).flatMap((block) => attachmentOf(asObject(block) ?? {}) ?? []);
    if (content !== '' || files.length > 0) this.addUserText(entry, conversationId, content, files);
  }

  #idOf(entry: ClaudeEntry, kind: string): string {
    return entry.uuid ?? `${kind}:${++this.#unnamed}`;
  }
}

/** The fields that every line has: directory, time, session and the like. */
const ENVELOPE: ReadonlySet<string> = new Set(
  `type subtype content uuid parentUuid logicalParentUuid sessionId timestamp cwd gitBranch version userType
  entrypoint isSidechain isMeta slug level`.split(/\s+/),
);

function withoutEnvelope(line: Json): Json | undefined {
  const rest = Object.entries(line).filter(([key]) => !ENVELOPE.has(key));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}
