import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../core/messages.ts';
import { SentCallIds, safeIds, sentName } from './call-ids.ts';
import { ImportedMessages, type ImportOptions, isRecord, refuseMessage } from './imported-messages.ts';
import { mediaKind, mediaOf } from './media.ts';
import { FAILED_SILENTLY } from './sent-text.ts';
import { argumentsOf } from './tool-input.ts';

/**
 * Messages of OpenAI's chat completions, for those who call that API themselves. The types are our own, and fit the
 * parameters of the `openai` package.
 */

/** Text. */
export type OpenAIChatTextPart = { type: 'text'; text: string };
/** What a user may say. */
export type OpenAIChatPart =
  | OpenAIChatTextPart
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
  | { type: 'file'; file: { filename: string; file_data: string } };
/** A call of a function. */
export type OpenAIChatToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } };
/** A message of chat completions. */
export type OpenAIChatMessage =
  | { role: 'system'; content: string | OpenAIChatTextPart[] }
  | { role: 'user'; content: string | OpenAIChatPart[] }
  | { role: 'assistant'; content: string | OpenAIChatTextPart[] | null; tool_calls?: OpenAIChatToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string | OpenAIChatTextPart[] };

/** A message as `fromOpenAIChat` takes it: anything that the API sends or accepts. It is checked when it is read. */
export interface OpenAIChatInput {
  readonly role: string;
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
  readonly name?: unknown;
}

/** Begins the content of a failed result: the API has no field for it. */
const ERROR_MARK = '[tool error] ';
/** Begins a successful result that would otherwise read as marked. */
const OK_MARK = '[tool ok] ';

/**
 * Our messages as chat completions takes them.
 *
 * A failed result begins with `[tool error] `. What the API cannot hold: reasoning, calls that a provider executed itself and
 * an assistant's media are left out; where a call stood between texts is lost; media in a tool's result follows the results
 * as a user's message; a file given by URL becomes a line of text. Call ids are made unique and at most 40 characters,
 * arguments that are no JSON object are wrapped in one.
 */
export function toOpenAIChat(messages: readonly ConversationMessage[]): OpenAIChatMessage[] {
  const ids = new SentCallIds(safeIds(40));
  const sent: OpenAIChatMessage[] = [];
  let media: MediaPart[] = [];
  const flush = (): void => {
    if (media.length > 0) sent.push({ role: 'user', content: media.map(partOf) });
    media = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') flush();
    switch (message.role) {
      case 'system':
        sent.push({ role: 'system', content: texts(message.content) });
        break;
      case 'user':
        sent.push({ role: 'user', content: collapse(withoutEmpty(message.content).map(partOf)) });
        break;
      case 'assistant': {
        const answer = assistantOf(message, ids);
        if (answer) sent.push(answer);
        break;
      }
      case 'tool':
        media.push(...message.content.filter((part) => part.type !== 'text'));
        sent.push({ role: 'tool', tool_call_id: ids.resultOf(message.toolCallId), content: resultOf(message) });
        break;
      default:
        message satisfies never;
    }
  }
  flush();
  return sent;
}

function assistantOf(message: AssistantMessage, ids: SentCallIds): OpenAIChatMessage | undefined {
  const calls = message.toolCalls?.filter((call) => call.providerExecuted === undefined) ?? [];
  const sentIds = ids.open(calls);
  const content = texts(message.content.filter(isText));
  const tool_calls = calls.map(
    (call, i): OpenAIChatToolCall => ({
      id: sentIds[i] as string,
      type: 'function',
      function: { name: sentName(call.name), arguments: argumentsOf(call.arguments) },
    }),
  );
  if (tool_calls.length > 0) return { role: 'assistant', content: content.length > 0 ? content : null, tool_calls };
  return content.length > 0 ? { role: 'assistant', content } : undefined;
}

function resultOf(message: ToolMessage): string | OpenAIChatTextPart[] {
  const [first = message.isError ? FAILED_SILENTLY : '', ...rest] = withoutEmpty(message.content)
    .filter(isText)
    .map((part) => part.text.toWellFormed());
  const mark = message.isError ? ERROR_MARK : first.startsWith(ERROR_MARK) || first.startsWith(OK_MARK) ? OK_MARK : '';
  return collapse([mark + first, ...rest].map((text): OpenAIChatTextPart => ({ type: 'text', text })));
}

/** The texts of parts; empty ones are no content. */
function texts(parts: readonly TextPart[]): string | OpenAIChatTextPart[] {
  return collapse(
    withoutEmpty(parts).map((part): OpenAIChatTextPart => ({ type: 'text', text: part.text.toWellFormed() })),
  );
}

/** One text as it is, anything else as parts. */
function collapse<T extends OpenAIChatPart>(parts: T[]): string | T[] {
  const [only] = parts;
  if (only === undefined) return '';
  return parts.length === 1 && only.type === 'text' ? only.text : parts;
}

function withoutEmpty<T extends { readonly type: string }>(parts: readonly T[]): T[] {
  return parts.filter((part) => !('text' in part) || part.text !== '');
}

function isText(part: { readonly type: string }): part is TextPart {
  return part.type === 'text';
}

const AUDIO: Readonly<Record<string, 'wav' | 'mp3'>> = { 'audio/wav': 'wav', 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' };

function partOf(part: TextPart | MediaPart): OpenAIChatPart {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() };
  const media = mediaOf(part);
  const isUrl = media.kind === 'url';
  const url = isUrl ? media.url : `data:${media.mediaType};base64,${media.base64}`;
  if (part.type === 'image') return { type: 'image_url', image_url: { url } };
  if (isUrl) return { type: 'text', text: `[file: ${url}]` };
  const format = AUDIO[media.mediaType];
  if (format) return { type: 'input_audio', input_audio: { data: media.base64, format } };
  return { type: 'file', file: { filename: part.filename ?? 'file', file_data: url } };
}

/**
 * Chat completions' messages as ours. `developer` reads as `system` and a refusal as text; a tool message may name its tool. Names of
 * people are left out, and so are parts that we have no place for. Throws `INVALID_ARGUMENT` for what is no such message.
 */
export function fromOpenAIChat(
  messages: readonly OpenAIChatInput[],
  options: ImportOptions = {},
): readonly ConversationMessage[] {
  const imported = new ImportedMessages(options);
  for (const [index, message] of messages.entries()) {
    const refuse = (why: string): never => refuseMessage('chat completions', index, why);
    if (!isRecord(message)) refuse('it is not an object');
    switch (message.role) {
      case 'system':
      case 'developer':
        imported.push({ role: 'system', content: readContent(message.content, refuse).filter(isText) });
        break;
      case 'user':
        imported.push({ role: 'user', content: readContent(message.content, refuse) });
        break;
      case 'assistant': {
        const toolCalls = readCalls(message.tool_calls, refuse);
        const content = [...readContent(message.content, refuse), ...readContent(message.refusal, refuse)].filter(
          isText,
        );
        imported.push({ role: 'assistant', content, ...(toolCalls.length > 0 ? { toolCalls } : {}) });
        break;
      }
      case 'tool': {
        const { tool_call_id: toolCallId, name } = message;
        if (typeof toolCallId !== 'string') return refuse('tool_call_id is missing');
        const toolName = typeof name === 'string' && name !== '' ? name : imported.nameOf(toolCallId);
        const [first, ...rest] = readContent(message.content, refuse).filter(isText);
        const text = first?.text ?? '';
        const isError = text.startsWith(ERROR_MARK);
        const unmarked = text.slice(isError ? ERROR_MARK.length : text.startsWith(OK_MARK) ? OK_MARK.length : 0);
        const content = withoutEmpty([{ type: 'text', text: unmarked } as TextPart, ...rest]);
        imported.push({ role: 'tool', toolCallId, toolName, content, isError });
        break;
      }
      default:
        refuse(`its role is "${message.role}"`);
    }
  }
  return imported.messages;
}

function readContent(content: unknown, refuse: (why: string) => never): (TextPart | MediaPart)[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return refuse('its content is neither text nor a list of parts');
  return content.flatMap((part: unknown) => readPart(part) ?? []);
}

function readPart(part: unknown): TextPart | MediaPart | undefined {
  if (!isRecord(part)) return undefined;
  const { type, text, refusal } = part;
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  if (type === 'image_url') {
    const url = isRecord(part.image_url) ? part.image_url.url : part.image_url;
    return typeof url === 'string' ? mediaFrom(url, 'image/*') : undefined;
  }
  if (type === 'input_audio' && isRecord(part.input_audio)) {
    const { data, format } = part.input_audio;
    const mediaType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav';
    return typeof data === 'string' ? { type: 'file', mediaType, data } : undefined;
  }
  if (type === 'file' && isRecord(part.file) && typeof part.file.file_data === 'string') {
    const { filename, file_data: data } = part.file;
    return { ...mediaFrom(data, 'application/octet-stream'), ...(typeof filename === 'string' ? { filename } : {}) };
  }
  return undefined;
}

/** A `data:` URL as its content, any other URL as it is: that one does not say what is behind it. */
function mediaFrom(url: string, unknownType: string): MediaPart {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (mediaType === undefined || data === undefined)
    return { type: mediaKind(unknownType), mediaType: unknownType, data: url };
  return { type: mediaKind(mediaType), mediaType, data };
}

function readCalls(calls: unknown, refuse: (why: string) => never): ToolCall[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) return refuse('tool_calls is not a list');
  return calls.map((call: unknown) => {
    const called = isRecord(call) && isRecord(call.function) ? call.function : undefined;
    if (!isRecord(call) || !called || typeof call.id !== 'string' || typeof called.name !== 'string') {
      return refuse('a tool call lacks its id or its function');
    }
    return {
      callId: call.id,
      name: called.name,
      arguments: typeof called.arguments === 'string' ? called.arguments : '',
    };
  });
}
