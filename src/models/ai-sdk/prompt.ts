import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { HoldfastError } from '../../core/errors.ts';
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  ProviderData,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../../core/log/messages.ts';
import { textOf } from '../../core/log/messages.ts';
import { inputOf } from '../../formats/call-arguments.ts';
import { mediaOf } from '../../formats/media.ts';
import { hasContent, partsAndCalls } from '../../formats/message-parts.ts';
import { BEGIN, BEGINNING_LEFT_OUT, EMPTY_FAILURE, EMPTY_MESSAGE, MEDIA_FOLLOWS } from '../../formats/placeholders.ts';
import { renameCalls } from '../../formats/rename-calls.ts';
import { executorOf, mayHaveBack, type ProviderRules, reasoningOptions } from './provider-rules.ts';

/**
 * Our messages as the AI SDK's provider specification has them. The same messages always give the same prompt, and a longer
 * conversation's prompt starts with the shorter one's: caches stay warm and signed thoughts stay valid.
 *
 * Not sent, because a provider refuses it or would misread it: blank text, another provider's reasoning and the calls that
 * another provider executed itself.
 */
export function toPrompt(
  messages: readonly ConversationMessage[],
  rules: ProviderRules,
  options: { readonly reasoning?: boolean } = {},
): LanguageModelV4Message[] {
  const { reasoning = true } = options;
  const provided = new ProvidedCalls(messages);
  const system: LanguageModelV4Message[] = [];
  const rest: LanguageModelV4Message[] = [];
  let results: ToolMessage[] = [];
  let called = new Map<string, ToolCall>();
  const flush = (): void => {
    if (results.length > 0) rest.push(...resultMessages(results, rules, called));
    results = [];
  };
  for (const message of renameCalls(messages, rules.api)) {
    if (message.role === 'tool') {
      results.push(message);
      continue;
    }
    flush();
    if (message.role === 'system') {
      // First, wherever it stood: most providers take instructions at the beginning only.
      const text = textOf(message).toWellFormed();
      if (text.trim() !== '') system.push({ role: 'system', content: text });
    } else if (message.role === 'user') {
      const parts = message.content.filter(hasContent);
      rest.push({
        role: 'user',
        content: parts.length > 0 ? parts.map((part) => content(part, rules)) : [{ type: 'text', text: EMPTY_MESSAGE }],
      });
    } else {
      called = new Map(message.toolCalls?.map((call) => [call.callId, call]));
      const parts = assistantContent(message, rules, provided, reasoning);
      if (parts.length > 0) rest.push({ role: 'assistant', content: parts });
    }
  }
  flush();
  const [first] = rest;
  if (rules.api.userFirst && first?.role !== 'user') {
    rest.unshift({ role: 'user', content: [{ type: 'text', text: first ? BEGINNING_LEFT_OUT : BEGIN }] });
  }
  return [...system, ...rest];
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

function assistantContent(
  message: AssistantMessage,
  rules: ProviderRules,
  provided: ProvidedCalls,
  reasoning: boolean,
): AssistantContent {
  const parts: AssistantContent = [];
  for (const step of partsAndCalls(message)) {
    if ('callId' in step) {
      if (step.providerExecuted) parts.push(...providerExecuted(step, rules, provided));
      else {
        const { callId: toolCallId, name: toolName, providerData } = step;
        parts.push({ type: 'tool-call', toolCallId, toolName, input: inputOf(step), ...given(providerData, rules) });
      }
    } else if (step.type === 'reasoning') {
      const options = reasoning ? reasoningOptions(step, rules) : undefined;
      // Word for word: a signature covers the text.
      if (options)
        parts.push({ type: 'reasoning', text: step.text, providerOptions: options as SharedV4ProviderOptions });
    } else if (hasContent(step)) parts.push(content(step, rules));
  }
  // A thought that led to nothing: providers refuse one at the end of a message.
  while (parts.at(-1)?.type === 'reasoning') parts.pop();
  return parts;
}

/** A call that the provider ran: the call and its result side by side, for that provider only. */
function providerExecuted(call: ToolCall, rules: ProviderRules, provided: ProvidedCalls): AssistantContent {
  if (call.providerData?.provider !== executorOf(rules)) return [];
  const options = optionsOf(call.providerData);
  const { result, isError } = call.providerExecuted ?? {};
  const parts: AssistantContent = [];
  if (isLateResult(call)) {
    if (!provided.wasAsked(call)) return [];
  } else {
    if (result === undefined && !provided.mayStayOpen(call)) return [];
    parts.push({
      type: 'tool-call',
      toolCallId: call.callId,
      toolName: call.name,
      input: inputOf(call),
      providerExecuted: true,
      ...options,
    });
  }
  if (result !== undefined) {
    parts.push({
      type: 'tool-result',
      toolCallId: call.callId,
      toolName: call.name,
      output: { type: isError ? 'error-json' : 'json', value: result } as LanguageModelV4ToolResultOutput,
      ...options,
    });
  }
  return parts;
}

/** The result of a call in an earlier message, recorded under its id and without arguments. */
function isLateResult(call: ToolCall): boolean {
  return call.arguments === '' && call.providerExecuted?.result !== undefined;
}

/**
 * Which provider-executed calls have their result in a later message: code that a provider runs may wait for our tools. If a
 * history manager cut one of the two out, the other is not sent either.
 */
class ProvidedCalls {
  readonly #newest: readonly ToolCall[];
  readonly #asked = new Set<string>();
  readonly #late = new Set<string>();

  constructor(messages: readonly ConversationMessage[]) {
    let newest: readonly ToolCall[] = [];
    for (const message of messages) {
      if (message.role !== 'assistant') continue;
      newest = message.toolCalls ?? [];
      for (const call of newest) {
        if (isLateResult(call)) this.#late.add(call.callId);
        else if (call.providerExecuted && call.providerExecuted.result === undefined) this.#asked.add(call.callId);
      }
    }
    this.#newest = newest;
  }

  wasAsked(result: ToolCall): boolean {
    return this.#asked.has(result.callId);
  }

  /** The newest call may be waiting for results that are on their way. */
  mayStayOpen(call: ToolCall): boolean {
    return this.#late.has(call.callId) || this.#newest.includes(call);
  }
}

function resultMessages(
  results: readonly ToolMessage[],
  rules: ProviderRules,
  called: ReadonlyMap<string, ToolCall>,
): LanguageModelV4Message[] {
  const apart: MediaPart[] = [];
  const content = results.map((message): LanguageModelV4ToolResultPart => {
    const media = message.content.filter((part) => part.type !== 'text');
    const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const value = texts.join('\n').toWellFormed();
    let output: LanguageModelV4ToolResultOutput;
    if (message.isError) {
      apart.push(...media);
      output = { type: 'error-text', value: value.trim() === '' ? EMPTY_FAILURE : value };
    } else if (media.length === 0) output = { type: 'text', value };
    else if (rules.api.mediaInResults) {
      const parts = message.content.filter(hasContent);
      output = {
        type: 'content',
        value: parts.map((part) =>
          part.type === 'text' ? { type: 'text', text: part.text.toWellFormed() } : { ...file(part), type: 'file' },
        ),
      };
    } else {
      apart.push(...media);
      output = { type: 'text', value: value.trim() === '' ? MEDIA_FOLLOWS : value };
    }
    const { toolCallId, toolName } = message;
    const data = given(called.get(toolCallId)?.providerData, rules);
    return { type: 'tool-result', toolCallId, toolName, output, ...data };
  });
  const messages: LanguageModelV4Message[] = [{ role: 'tool', content }];
  if (apart.length > 0) messages.push({ role: 'user', content: apart.map(file) });
  return messages;
}

function content(part: TextPart | MediaPart, rules: ProviderRules): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type !== 'text') return file(part);
  return { type: 'text', text: part.text.toWellFormed(), ...given(part.providerData, rules) };
}

function file(part: MediaPart): LanguageModelV4FilePart {
  const media = mediaOf(part);
  return {
    type: 'file',
    mediaType: media.mediaType,
    data: media.kind === 'url' ? { type: 'url', url: urlOf(media.url) } : { type: 'data', data: media.base64 },
    ...(part.filename === undefined ? {} : { filename: part.filename }),
  };
}

function urlOf(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  const start = text.slice(0, 100);
  throw new HoldfastError('INVALID_ARGUMENT', `"${start}" is neither base64 nor a URL; pass one of them as data`);
}

function given(data: ProviderData | undefined, rules: ProviderRules): { providerOptions?: SharedV4ProviderOptions } {
  return data && mayHaveBack(data, rules) ? optionsOf(data) : {};
}

function optionsOf({ data }: ProviderData): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(data).length > 0 ? { providerOptions: data as SharedV4ProviderOptions } : {};
}
