import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  ProviderData,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../../core/messages.ts';
import { textOf } from '../../core/messages.ts';
import { SentCallIds, sentName } from '../call-ids.ts';
import { mediaOf } from '../media.ts';
import { BEGIN, FAILED_SILENTLY, isSaid, NOTHING_SAID } from '../sent-text.ts';
import { objectOf } from '../tool-input.ts';
import { executorOf, mayHaveBack, type ProviderRules, reasoningOptions } from './provider-rules.ts';

/**
 * Our messages as the AI SDK's provider specification has them. The same messages always give the same prompt, and a longer
 * conversation's prompt begins with the shorter one's: caches stay warm and signed thoughts stay valid.
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
  const ids = new SentCallIds(rules.callIds);
  const provided = new ProvidedCalls(messages);
  const system: LanguageModelV4Message[] = [];
  const rest: LanguageModelV4Message[] = [];
  let results: ToolMessage[] = [];
  let answered = new Map<string, ToolCall>();
  const flush = (): void => {
    if (results.length > 0) rest.push(...resultMessages(results, { ids, rules, calls: answered }));
    results = [];
  };
  for (const message of messages) {
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
      const said = message.content.filter(isSaid);
      rest.push({
        role: 'user',
        content: said.length > 0 ? said.map((part) => content(part, rules)) : [{ type: 'text', text: NOTHING_SAID }],
      });
    } else {
      answered = new Map(message.toolCalls?.map((call) => [call.callId, call]));
      const said = assistantContent(message, { ids, rules, provided, reasoning });
      if (said.length > 0) rest.push({ role: 'assistant', content: said });
    }
  }
  flush();
  if (rules.wantsUserFirst && rest[0]?.role !== 'user') {
    rest.unshift({ role: 'user', content: [{ type: 'text', text: BEGIN }] });
  }
  return [...system, ...rest];
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

function assistantContent(
  message: AssistantMessage,
  context: {
    readonly ids: SentCallIds;
    readonly rules: ProviderRules;
    readonly provided: ProvidedCalls;
    readonly reasoning: boolean;
  },
): AssistantContent {
  const { rules, provided } = context;
  const { content: said, toolCalls = [] } = message;
  const calls = toolCalls.filter((call) => call.providerExecuted === undefined);
  const sent = new Map<ToolCall, string>();
  for (const [i, id] of context.ids.open(calls).entries()) sent.set(calls[i] as ToolCall, id);

  const parts: AssistantContent = [];
  const pushCalls = (place: number): void => {
    for (const call of toolCalls) {
      if (Math.min(call.after ?? said.length, said.length) !== place) continue;
      if (call.providerExecuted) parts.push(...providerExecuted(call, rules, provided));
      else {
        parts.push({
          type: 'tool-call',
          toolCallId: sent.get(call) as string,
          toolName: sentName(call.name, rules.notInNames),
          input: objectOf(call.arguments),
          ...given(call.providerData, rules),
        });
      }
    }
  };
  for (const [i, part] of said.entries()) {
    pushCalls(i);
    if (part.type === 'reasoning') {
      const options = context.reasoning ? reasoningOptions(part, rules) : undefined;
      // Word for word: a signature covers the text.
      if (options)
        parts.push({ type: 'reasoning', text: part.text, providerOptions: options as SharedV4ProviderOptions });
    } else if (isSaid(part)) parts.push(content(part, rules));
  }
  pushCalls(said.length);
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
      input: objectOf(call.arguments),
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
 * Which provider-executed calls are answered in a later message: code that a provider runs may wait for our tools. If a
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
  context: { readonly ids: SentCallIds; readonly rules: ProviderRules; readonly calls: ReadonlyMap<string, ToolCall> },
): LanguageModelV4Message[] {
  const { ids, rules, calls } = context;
  const apart: MediaPart[] = [];
  const content = results.map((message): LanguageModelV4ToolResultPart => {
    const media = message.content.filter((part) => part.type !== 'text');
    const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const value = texts.join('\n').toWellFormed();
    let output: LanguageModelV4ToolResultOutput;
    if (message.isError) {
      apart.push(...media);
      output = { type: 'error-text', value: value.trim() === '' ? FAILED_SILENTLY : value };
    } else if (media.length === 0) output = { type: 'text', value };
    else if (rules.mediaInResults) {
      const parts = message.content.filter(isSaid);
      output = {
        type: 'content',
        value: parts.map((part) =>
          part.type === 'text' ? { type: 'text', text: part.text.toWellFormed() } : { ...file(part), type: 'file' },
        ),
      };
    } else {
      apart.push(...media);
      output = { type: 'text', value: value.trim() === '' ? 'The result is in the next message.' : value };
    }
    return {
      type: 'tool-result',
      toolCallId: ids.resultOf(message.toolCallId),
      toolName: sentName(message.toolName, rules.notInNames),
      output,
      ...given(calls.get(message.toolCallId)?.providerData, rules),
    };
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
    data: media.kind === 'url' ? { type: 'url', url: new URL(media.url) } : { type: 'data', data: media.base64 },
    ...(part.filename === undefined ? {} : { filename: part.filename }),
  };
}

function given(data: ProviderData | undefined, rules: ProviderRules): { providerOptions?: SharedV4ProviderOptions } {
  return data && mayHaveBack(data, rules) ? optionsOf(data) : {};
}

function optionsOf({ data }: ProviderData): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(data).length > 0 ? { providerOptions: data as SharedV4ProviderOptions } : {};
}
