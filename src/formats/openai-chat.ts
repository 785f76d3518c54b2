import { isRecord } from '../core/log/message-problem.ts';
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../core/log/messages.ts';
import { argumentsText } from './call-arguments.ts';
import { ImportedMessages, type MessageImportOptions, refuseMessage } from './imported-messages.ts';
import type { FormatOptions } from './losses.ts';
import { mediaPart, mediaPartOfUrl, orLoss, refusedType, Unsendable, webMedia } from './media.ts';
import { EMPTY_FAILURE, MEDIA_FOLLOWS } from './placeholders.ts';
import { prepare } from './provider-rules.ts';

/**
 * The codec of OpenAI's chat completions. `toOpenAIChat` and `fromOpenAIChat` are for callers that use the API themselves; the exporter
 * writes the same. The types are our own, and fit the parameters of the `openai` package.
 */

/** Text. */
export type OpenAIChatTextPart = { type: 'text'; text: string };
/** A part of a user message. */
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

/** Starts the content of a failed result: the API has no field for it. */
const ERROR_MARK = '[tool error] ';
/** Starts a successful result that would otherwise read as a failed one. */
const OK_MARK = '[tool ok] ';

const NO_PLACE = 'OpenAI chat messages have no place for it';

/**
 * Our messages as chat completions takes them.
 *
 * A failed result starts with `[tool error] `. What the API cannot hold, `onLoss` receives: reasoning, calls that a provider ran itself
 * and a response's media are left out; the place of a call between texts is lost; media in a tool's result follows the results as a
 * user message; a file given by URL becomes a line of text. Call ids are made unique and at most 40 characters, arguments that are no
 * JSON object are wrapped in one, and a call without a result gets a placeholder. Without `onLoss`, media of a type that the API does
 * not take is an `INVALID_ARGUMENT`.
 */
export function toOpenAIChat(
  messages: readonly ConversationMessage[],
  options: FormatOptions = {},
): OpenAIChatMessage[] {
  const sent: OpenAIChatMessage[] = [];
  let media: OpenAIChatPart[] = [];
  const flush = (): void => {
    if (media.length > 0) sent.push({ role: 'user', content: media });
    media = [];
  };
  for (const message of prepare(messages, 'openai', options)) {
    if (message.role !== 'tool') flush();
    switch (message.role) {
      case 'system':
        sent.push({ role: 'system', content: texts(message.content) });
        break;
      case 'user':
        sent.push({ role: 'user', content: collapse(userParts(message.content, message.id, options)) });
        break;
      case 'assistant':
        sent.push(assistantMessage(message, options));
        break;
      case 'tool': {
        const { toolCallId: id } = message;
        const shown = message.content.filter((part) => part.type !== 'text');
        for (const _ of shown) options.onLoss?.({ what: 'medium of a result', why: MEDIA_FOLLOWS, id });
        const parts = userParts(shown, id, options);
        media.push(...parts);
        sent.push({ role: 'tool', tool_call_id: id, content: resultContent(message, parts.length > 0, options) });
        break;
      }
      default:
        message satisfies never;
    }
  }
  flush();
  return sent;
}

function assistantMessage(message: AssistantMessage, options: FormatOptions): OpenAIChatMessage {
  const { onLoss } = options;
  const { length } = message.content;
  for (const { type } of message.content) {
    if (type === 'reasoning') onLoss?.({ what: 'reasoning', why: NO_PLACE, id: message.id });
  }
  const content = texts(message.content.filter(isText));
  if (!message.toolCalls) return { role: 'assistant', content };
  const tool_calls = message.toolCalls.map((call): OpenAIChatToolCall => {
    const { callId: id, name, after = length } = call;
    if (after < length) onLoss?.({ what: 'place of a call in its response', why: NO_PLACE, id });
    return { id, type: 'function', function: { name, arguments: argumentsText(call, options) } };
  });
  return { role: 'assistant', content: content.length > 0 ? content : null, tool_calls };
}

function resultContent(
  message: ToolMessage,
  mediaFollows: boolean,
  { onLoss }: FormatOptions,
): string | OpenAIChatTextPart[] {
  const [first, ...rest] = withoutEmpty(message.content)
    .filter(isText)
    .map((part) => part.text.toWellFormed());
  if (first === undefined && message.isError) {
    onLoss?.({ what: 'empty error', why: `"${EMPTY_FAILURE}" stands in its place`, id: message.toolCallId });
  }
  const text = first ?? (message.isError ? EMPTY_FAILURE : mediaFollows ? MEDIA_FOLLOWS : '');
  const mark = message.isError ? ERROR_MARK : text.startsWith(ERROR_MARK) || text.startsWith(OK_MARK) ? OK_MARK : '';
  return collapse([mark + text, ...rest].map((one): OpenAIChatTextPart => ({ type: 'text', text: one })));
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

function userParts(content: readonly (TextPart | MediaPart)[], id: string, options: FormatOptions): OpenAIChatPart[] {
  return withoutEmpty(content).flatMap((part): OpenAIChatPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text.toWellFormed() }];
    return orLoss(mediaPartOf(part, id, options), id, options);
  });
}

const AUDIO: Readonly<Record<string, 'wav' | 'mp3'>> = { 'audio/wav': 'wav', 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' };

function mediaPartOf(part: MediaPart, id: string, { onLoss }: FormatOptions): OpenAIChatPart | Unsendable {
  const media = webMedia(part);
  if (media instanceof Unsendable) return media;
  const isUrl = media.kind === 'url';
  const url = isUrl ? media.url : `data:${media.mediaType};base64,${media.base64}`;
  if (part.type === 'image') return { type: 'image_url', image_url: { url } };
  if (isUrl) {
    onLoss?.({
      what: 'file at an address',
      why: 'its address stands in the text: OpenAI takes the content of files',
      id,
    });
    return { type: 'text', text: `[file: ${url}]` };
  }
  const format = AUDIO[media.mediaType];
  if (format) return { type: 'input_audio', input_audio: { data: media.base64, format } };
  if (media.mediaType !== 'application/pdf') {
    return refusedType(part, 'OpenAI chat messages take images, audio/wav, audio/mpeg and application/pdf');
  }
  return { type: 'file', file: { filename: part.filename ?? 'document.pdf', file_data: url } };
}

/**
 * Chat completions' messages as ours. `developer` becomes `system` and a refusal becomes text; a tool message may name its tool. Names
 * of people are left out, and so are parts that our messages have no place for. Throws `INVALID_ARGUMENT` for what is no such message.
 */
export function fromOpenAIChat(
  messages: readonly OpenAIChatInput[],
  options: MessageImportOptions = {},
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
    return typeof url === 'string' ? mediaPartOfUrl(url, 'image/*') : undefined;
  }
  if (type === 'input_audio' && isRecord(part.input_audio)) {
    const { data, format } = part.input_audio;
    const mediaType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav';
    return typeof data === 'string' ? mediaPart(mediaType, data) : undefined;
  }
  if (type === 'file' && isRecord(part.file) && typeof part.file.file_data === 'string') {
    const { filename, file_data: data } = part.file;
    return mediaPartOfUrl(data, 'application/octet-stream', filename);
  }
  return undefined;
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
