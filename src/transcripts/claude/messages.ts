/** Converts the main conversation of a Claude Code transcript to messages. */
import type { ConversationMessage, MediaPart, TextPart } from '../../core/log/messages.ts';
import {
  isServerCall,
  isSignedByAnthropic,
  readServerCall,
  readText,
  readThought,
  readUserBlock,
} from '../../formats/anthropic-blocks.ts';
import { asList, asName, asObject, asText, type Json, keep } from '../json-access.ts';
import { fromModel, type ImportedMessagesOptions, MessageBuilder } from '../message-builder.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import { contentBlocks, contentText } from './content.ts';
import type { ClaudeEntry } from './entry.ts';
import { claudeTranscriptEntries } from './transcript-events.ts';
import { apiErrorText, classifyUserText, noticeText } from './user-text.ts';

/** Notices that the model gets: that it was interrupted, the text behind a slash command, messages of other agents and programs. */
const FOR_THE_MODEL: ReadonlySet<string> = new Set(['interrupted', 'meta', 'teammate', 'context', 'memory']);
/** Commands that the user ran in a shell; the model gets them, unlike the commands of the program itself. */
const SHELL = /^\s*<bash-(?:input|stdout|stderr)>/;
/** Lines that the harness wrote in the assistant's place. */
const SYNTHETIC_MODEL = '<synthetic>';

/** The messages of a session, without those that the user rewound and those that the harness wrote for itself. */
export function claudeMessages(raw: RawTranscript, options: ImportedMessagesOptions): readonly ConversationMessage[] {
  const entries = claudeTranscriptEntries(raw);
  const summary = options.from === 'compaction' ? entries.findLastIndex((entry) => entry.isCompactSummary) : -1;
  const builder = new MessageBuilder(options);
  const serverCalls = new Map<string, Json>();
  for (const entry of entries.slice(Math.max(0, summary))) {
    if (entry.type === 'assistant') addAssistant(builder, entry, serverCalls);
    else if (entry.type === 'user') addUser(builder, entry, summary >= 0);
    else if (entry.type === 'system') addSystem(builder, entry);
    else if (entry.type === 'attachment') {
      const attachment = asObject(entry.raw.attachment);
      const text = attachmentText(entry.raw);
      if (attachment?.type === 'queued_command') {
        builder.user(idOf(entry), entry.timestamp, userParts(attachment.prompt));
      } else if (text !== undefined) builder.user(idOf(entry), entry.timestamp, [{ type: 'text', text }]);
    }
  }
  return builder.finish();
}

function addAssistant(builder: MessageBuilder, entry: ClaudeEntry, serverCalls: Map<string, Json>): void {
  const { message, timestamp } = entry;
  if (entry.isApiError) builder.leaveOut('notice', idOf(entry));
  if (message === undefined || message.model === SYNTHETIC_MODEL || entry.isApiError) return;
  const id = asName(message.id) ?? idOf(entry);
  for (const block of contentBlocks(message.content)) {
    const thought = readThought(block);
    if (thought && !isSignedByAnthropic(thought)) {
      builder.leaveOut('reasoning', id); // no model takes it back
      continue;
    }
    const part = thought ? fromModel(thought, asName(message.model)) : readText(block);
    if (part) builder.addPart(id, timestamp, part);
    else if (block.type === 'tool_use' || isServerCall(block)) {
      const callId = asName(block.id) ?? `${id}:${asText(block.name) ?? ''}`;
      if (isServerCall(block)) serverCalls.set(callId, { ...block, input: keep(block.input ?? {}) });
      builder.call(id, timestamp, {
        callId,
        name: asText(block.name) ?? '',
        arguments: JSON.stringify(keep(block.input ?? {})),
        ...(isServerCall(block) && { providerExecuted: {} }),
      });
    } else if (asText(block.type)?.endsWith('_tool_result')) {
      const called = serverCalls.get(asText(block.tool_use_id) ?? '');
      const call = called && readServerCall(called, { ...block, content: keep(block.content) });
      if (call) builder.provided(call);
    }
  }
}

function addUser(builder: MessageBuilder, entry: ClaudeEntry, isFromSummary: boolean): void {
  const blocks = contentBlocks(entry.message?.content);
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    builder.result(asText(block.tool_use_id) ?? '', {
      id: idOf(entry),
      createdAt: entry.timestamp,
      content: resultParts(block.content),
      isError: block.is_error === true,
    });
  }
  if (entry.isCompactSummary && !isFromSummary) return; // it says again what was said before
  const content = userParts(blocks);
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const classified = classifyUserText(text, entry.isMeta);
  const isForModel = classified.kind !== 'notice' || FOR_THE_MODEL.has(classified.subtype) || SHELL.test(text);
  if (isForModel) builder.user(idOf(entry), entry.timestamp, content);
  else builder.leaveOut('notice', idOf(entry));
}

/** Lines of the harness are for people. A compaction is no loss: what it sums up is there. */
function addSystem(builder: MessageBuilder, entry: ClaudeEntry): void {
  if (entry.subtype === 'compact_boundary') return;
  const text = entry.subtype === 'api_error' ? apiErrorText(entry.raw) : noticeText(entry.raw);
  if (text.trim() !== '') builder.leaveOut('notice', idOf(entry));
}

function userParts(content: unknown): readonly (TextPart | MediaPart)[] {
  return contentBlocks(content).flatMap((block) => readUserBlock(block) ?? []);
}

function resultParts(content: unknown): readonly (TextPart | MediaPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return asList(content).flatMap((block) => readUserBlock(asObject(block) ?? {}) ?? []);
}

function idOf(entry: ClaudeEntry): string {
  return entry.uuid ?? `line:${entry.timestamp}`;
}

/**
 * How the attachments of each kind read: newer versions of Claude Code write what the model got beside them (`rendered`), for older ones it is
 * made again from their fields. The others hold settings and lists of tools, which another model does not have.
 */
const TEXTS: { readonly [kind: string]: (attachment: Json) => string | undefined } = {
  hook_success: ({ hookName, content, stdout }) =>
    hookText(hookName, 'hook success', textOf(content) ?? asName(stdout)),
  hook_additional_context: ({ hookName, content }) => hookText(hookName, 'hook additional context', textOf(content)),
  task_reminder: ({ content }) => {
    const tasks = asList(content).map((task) => `- ${oneLine(task)}`);
    return tasks.length === 0 ? undefined : `The tasks are now:\n${tasks.join('\n')}`;
  },
  edited_text_file: ({ filename, snippet }) =>
    `${asText(filename) ?? 'A file'} was changed by the user or by a linter:\n${asText(snippet) ?? ''}`,
  diagnostics: ({ files }) => {
    const found = asList(files).flatMap((file) => {
      const { uri, diagnostics } = asObject(file) ?? {};
      return asList(diagnostics).map((one) => `${asText(uri) ?? ''}: ${oneLine(one)}`);
    });
    return found.length === 0 ? undefined : `New diagnostics:\n${found.join('\n')}`;
  },
  goal_status: (attachment) => textOf(attachment.content) ?? `The goal: ${oneLine(withoutType(attachment))}`,
  plan_mode: (attachment) => textOf(attachment.content) ?? `Plan mode is on: ${oneLine(withoutType(attachment))}`,
  file: ({ filename, content }) => {
    const file = asObject(asObject(content)?.file);
    const text = asText(file?.content) ?? textOf(content);
    return text === undefined ? undefined : `The file ${asText(filename) ?? asText(file?.filePath) ?? ''}:\n${text}`;
  },
};

/** What the model got of an attachment line; `undefined` when nothing of it belongs to the conversation. */
function attachmentText(line: Json): string | undefined {
  const attachment = asObject(line.attachment);
  const kind = asText(attachment?.type) ?? '';
  if (attachment === undefined || !Object.hasOwn(TEXTS, kind)) return undefined;
  const rendered = asList(line.rendered).map((part) => contentText(asObject(part)?.content));
  const text = rendered.length > 0 ? rendered.join('\n') : TEXTS[kind]?.(attachment);
  return text === undefined || text.trim() === '' ? undefined : reminder(text);
}

function reminder(text: string): string {
  return text.trimStart().startsWith('<system-reminder>') ? text : `<system-reminder>\n${text}\n</system-reminder>`;
}

function hookText(name: unknown, what: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${asName(name) ?? ''} ${what}: ${text}`.trim();
}

/** A text or a list of texts. */
function textOf(value: unknown): string | undefined {
  const text = Array.isArray(value) ? value.flatMap((item) => asText(item) ?? []).join('\n') : asText(value);
  return text === undefined || text.trim() === '' ? undefined : text;
}

/** The text of an object, where it has one, else all of it. */
function oneLine(value: unknown): string {
  const object = asObject(value);
  const text = asName(object?.subject) ?? asName(object?.message) ?? asName(object?.content) ?? asText(value);
  if (text === undefined) return JSON.stringify(keep(value)) ?? '';
  const status = asName(object?.status) ?? asName(object?.severity);
  return status === undefined ? text : `${text} (${status})`;
}

function withoutType({ type: _, ...fields }: Json): Json {
  return fields;
}
