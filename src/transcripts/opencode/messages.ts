/** Converts an OpenCode session to messages. */
import type { ConversationMessage, MediaPart, TextPart } from '../../core/log/messages.ts';
import { mediaPartOfUrl } from '../../formats/media.ts';
import { asName, asObject, asText, type Json, keep } from '../json-access.ts';
import { fromModel, type ImportedMessagesOptions, MessageBuilder } from '../message-builder.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import { isReverted, type OpenCodeExportMessage, parseExports } from './export.ts';
import { isoTime, partTime, timeField } from './time.ts';

/** The messages of a session, without those that the user reverted. */
export function openCodeMessages(raw: RawTranscript, options: ImportedMessagesOptions): readonly ConversationMessage[] {
  const builder = new MessageBuilder(options);
  const [session] = parseExports(raw);
  if (session === undefined) return builder.finish();
  const all = [...session.messages].flatMap(({ info, parts }) =>
    isReverted(session.info, info.id)
      ? []
      : [{ info, parts: parts.filter((part) => !isReverted(session.info, info.id, part.id)) }],
  );
  const summary = options.from === 'compaction' ? all.findLastIndex(({ info }) => info.summary === true) : -1;
  for (const message of all.slice(Math.max(0, summary))) {
    if (message.info.role === 'user') addUser(builder, message);
    else if (message.info.summary !== true) addAssistant(builder, message);
    else if (summary >= 0) addSummary(builder, message);
  }
  return builder.finish();
}

function addUser(builder: MessageBuilder, { info, parts }: OpenCodeExportMessage): void {
  const content = parts.flatMap((part): readonly (TextPart | MediaPart)[] => {
    if (part.type === 'text' && part.ignored !== true) return [{ type: 'text', text: asText(part.text) ?? '' }];
    if (part.type === 'text' || part.type === 'subtask') builder.leaveOut('notice', asName(part.id) ?? '');
    return part.type === 'file' ? mediaOf(part) : [];
  });
  builder.user(asName(info.id) ?? '', isoTime(timeField(info, 'created')), content);
}

/** Adds the summary as a user message, in place of the messages that it summarizes. */
function addSummary(builder: MessageBuilder, { info, parts }: OpenCodeExportMessage): void {
  const text = parts.flatMap((part) => (part.type === 'text' ? (asText(part.text) ?? []) : [])).join('\n');
  builder.user(asName(info.id) ?? '', isoTime(timeField(info, 'created')), [{ type: 'text', text }]);
}

function addAssistant(builder: MessageBuilder, { info, parts }: OpenCodeExportMessage): void {
  const messageId = asName(info.id) ?? '';
  const created = timeField(info, 'created');
  const provider = asName(info.providerID) ?? '';
  const model = asName(info.modelID);
  let id = messageId;
  let steps = 0;
  if (asObject(info.error)) builder.leaveOut('notice', messageId);
  for (const part of parts) {
    const at = isoTime(partTime(part, created));
    // The text after results is another response, but older versions store it in the same message.
    if (part.type === 'step-start' && ++steps > 1) id = `${messageId}/${steps}`;
    if (part.type === 'text') builder.addPart(id, at, { type: 'text', text: asText(part.text) ?? '' });
    else if (part.type === 'reasoning') {
      const data = asObject(keep(part.metadata)) ?? {};
      if (Object.keys(data).length === 0) {
        if (asText(part.text)?.trim()) builder.leaveOut('reasoning', messageId); // no provider takes it back
        continue;
      }
      const signature = asName(asObject(data.anthropic)?.signature);
      const thought = { type: 'reasoning', text: asText(part.text) ?? '', provider } as const;
      builder.addPart(id, at, fromModel({ ...thought, ...(signature !== undefined && { signature }) }, model, data));
    } else if (part.type === 'tool') addTool(builder, id, part, at);
    else if (part.type === 'retry') builder.leaveOut('notice', asName(part.id) ?? messageId);
  }
}

function addTool(builder: MessageBuilder, messageId: string, part: Json, at: string): void {
  const state = asObject(part.state) ?? {};
  const callId = asName(part.callID) ?? asName(part.id) ?? '';
  const call = { callId, name: asText(part.tool) ?? '', arguments: JSON.stringify(keep(state.input ?? {})) };
  builder.call(messageId, at, call);
  if (state.status !== 'completed' && state.status !== 'error') return;
  const isError = state.status === 'error';
  const text = (isError ? asText(state.error) : asText(state.output)) ?? '';
  const files = Array.isArray(state.attachments)
    ? state.attachments.flatMap((file) => mediaOf(asObject(file) ?? {}))
    : [];
  builder.result(callId, {
    id: `result:${asName(part.id) ?? callId}`,
    createdAt: isoTime(timeField(state, 'end')),
    content: [{ type: 'text', text }, ...files],
    isError,
  });
}

function mediaOf(part: Json): readonly MediaPart[] {
  const url = asName(part.url);
  const type = asName(part.mime) ?? 'application/octet-stream';
  return url === undefined ? [] : [mediaPartOfUrl(url, type, asName(part.filename))];
}
