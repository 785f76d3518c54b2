import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { MediaPart, ProviderData, ReasoningPart, TextPart, ToolCall } from '../../core/log/messages.ts';
import { addUsage, type Usage } from '../../core/log/usage.ts';
import { mediaPart } from '../../formats/media.ts';
import { ModelError, type ModelPart, type ModelResponse } from '../../ports/model.ts';
import { executorOf, type ProviderRules, reasoningPart, tidyMetadata } from './provider-rules.ts';
import { type FinishPart, finishOf, readFile, type StreamFile } from './versions.ts';

/** A part of a provider's stream, in any version of the specification. */
export type StreamPart =
  | Exclude<LanguageModelV4StreamPart, { type: 'finish' } | { type: 'file' }>
  | { type: 'finish'; usage: unknown; finishReason: unknown; providerMetadata?: unknown }
  | StreamFile;

type Metadata = Record<string, Record<string, unknown>>;

/** A run of text or reasoning. It has a place in the response as soon as it has text. */
interface Block {
  readonly type: 'text' | 'reasoning';
  place?: number;
  text: string;
  metadata: Metadata;
}

interface Call {
  readonly place: number;
  readonly id: string;
  readonly after: number;
  name: string;
  arguments: string;
  /** Deltas are the arguments as they will stand in the response. */
  streams: boolean;
  streamed: boolean;
  /** Absent until the provider reports that the call is complete. */
  executed?: 'here' | 'there';
  result?: { value: unknown; isError: boolean };
  metadata: Metadata;
}

/**
 * Collects a provider's stream into one response, and emits its deltas. The id of a delta's block names its place:
 * `text:<i>` and `reasoning:<i>` become `content[i]`, `call:<n>` becomes `toolCalls[n]`. A provider that pauses
 * its turn sends several streams, which make one response.
 */
export class ResponseCollector {
  readonly #rules: ProviderRules;
  readonly #turn: number;
  #blocks = new Map<string, Block>();
  #open = new Map<string, Call>();
  readonly #content: (Block | MediaPart)[] = [];
  readonly #calls: Call[] = [];
  #usage: Usage | undefined;
  #finish: FinishPart | undefined;
  #providerMessageId: string | undefined;
  #model: string | undefined;

  constructor(options: { readonly rules: ProviderRules; readonly turn: number }) {
    this.#rules = options.rules;
    this.#turn = options.turn;
  }

  /** Receives one part of the stream; yields its deltas. */
  *receive(part: StreamPart): Iterable<ModelPart> {
    switch (part.type) {
      case 'text-start':
      case 'text-end':
        this.#block('text', part);
        return;
      case 'reasoning-start':
      case 'reasoning-end': {
        const block = this.#block('reasoning', part);
        if (Object.keys(block.metadata).length > 0) this.#placeOf(block);
        return;
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const type = part.type === 'text-delta' ? 'text' : 'reasoning';
        const block = this.#block(type, part);
        if (part.delta === '') {
          if (type === 'reasoning' && Object.keys(block.metadata).length > 0) this.#placeOf(block);
          return;
        }
        const place = this.#placeOf(block);
        block.text += part.delta;
        yield { type: part.type, blockId: `${type}:${place}`, delta: part.delta };
        return;
      }
      case 'tool-input-start':
        this.#call(part.id, part.toolName).streams = part.inputEncoding !== 'text';
        return;
      case 'tool-input-delta': {
        const call = this.#open.get(part.id);
        if (!call?.streams || call.executed || part.delta === '') return;
        call.streamed = true;
        yield { type: 'tool-input-delta', blockId: `call:${call.place}`, delta: part.delta, toolName: call.name };
        return;
      }
      case 'tool-call': {
        const call = this.#call(part.toolCallId, part.toolName);
        call.name = part.toolName;
        call.arguments = part.input;
        call.executed = part.providerExecuted ? 'there' : 'here';
        Object.assign(call.metadata, tidyMetadata(part.providerMetadata));
        if (!call.streamed && part.input !== '') {
          yield { type: 'tool-input-delta', blockId: `call:${call.place}`, delta: part.input, toolName: call.name };
        }
        return;
      }
      case 'tool-result': {
        // Its call may be in an earlier response: then it stands here without arguments.
        const call = this.#open.get(part.toolCallId) ?? this.#call(part.toolCallId, part.toolName);
        call.executed ??= 'there';
        call.result = { value: part.result, isError: part.isError ?? false };
        const metadata = tidyMetadata(part.providerMetadata);
        for (const [namespace, fields] of Object.entries(metadata ?? {})) call.metadata[namespace] ??= { ...fields };
        return;
      }
      case 'file': {
        const { mediaType, data } = readFile(part);
        this.#content.push({ ...mediaPart(mediaType, data), ...this.#data(tidyMetadata(part.providerMetadata)) });
        return;
      }
      case 'tool-approval-request':
        throw new ModelError(
          'the provider wants a person to approve a tool that it runs itself, which is not supported; configure that tool to need no approval',
          { retryable: false },
        );
      case 'response-metadata':
        if (part.id !== undefined) this.#providerMessageId = part.id;
        if (part.modelId !== undefined) this.#model = part.modelId;
        return;
      case 'finish': {
        this.#finish = finishOf(part);
        if (this.#finish.usage)
          this.#usage = addUsage(this.#usage ?? { inputTokens: 0, outputTokens: 0 }, this.#finish.usage);
        return;
      }
      default:
        // Sources repeat what results and text metadata say; pings, raw and custom parts are the transport's and the provider's.
        return;
    }
  }

  /** How the stream ended, once it has. */
  get finish(): FinishPart | undefined {
    return this.#finish;
  }

  /** Prepares for another stream of the same response. */
  continue(): void {
    this.#blocks = new Map();
    // A call that the provider runs itself may get its result in the next stream.
    this.#open = new Map([...this.#open].filter(([, call]) => call.executed === 'there' && !call.result));
    this.#finish = undefined;
  }

  /** Everything received so far, as one response. */
  response(): ModelResponse {
    const content = this.#content.map((part) => (isBlock(part) ? this.#part(part) : part));
    const finish = this.#finish;
    return {
      content,
      toolCalls: this.#toolCalls(),
      ...(this.#usage ? { usage: this.#usage } : {}),
      ...(finish ? { finishReason: finish.reason } : {}),
      ...(finish?.metadata ? { providerMetadata: finish.metadata } : {}),
      ...(this.#providerMessageId === undefined ? {} : { providerMessageId: this.#providerMessageId }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
  }

  #block(type: Block['type'], part: { type: string; id: string; providerMetadata?: unknown }): Block {
    const key = `${type}:${part.id}`;
    // A start is always a new block: some providers use one id again for the next run of text.
    const block = (part.type.endsWith('-start') ? undefined : this.#blocks.get(key)) ?? {
      type,
      text: '',
      metadata: {},
    };
    this.#blocks.set(key, block);
    merge(block.metadata, tidyMetadata(part.providerMetadata));
    return block;
  }

  #placeOf(block: Block): number {
    block.place ??= this.#content.push(block) - 1;
    return block.place;
  }

  /** The open call of this id, or a new one: a provider that repeats an id makes two calls (D11). */
  #call(id: string, name: string): Call {
    const open = this.#open.get(id);
    if (open && !open.executed) return open;
    const call: Call = {
      place: this.#calls.length,
      id,
      after: this.#content.length,
      name,
      arguments: '',
      streams: true,
      streamed: false,
      metadata: {},
    };
    this.#calls.push(call);
    this.#open.set(id, call);
    return call;
  }

  #part(block: Block): TextPart | ReasoningPart {
    if (block.type === 'reasoning') return reasoningPart(block.text, block.metadata, this.#rules);
    return { type: 'text', text: block.text, ...this.#data(block.metadata) };
  }

  #toolCalls(): ToolCall[] {
    const ids = new Set<string>();
    const complete = this.#calls.filter((call) => call.executed !== undefined);
    return complete.map((call, i) => ({
      callId: uniqueId(call.id || `call_${this.#turn}_${i + 1}`, ids),
      name: call.name,
      arguments: call.arguments,
      ...(call.after === this.#content.length ? {} : { after: call.after }),
      ...(call.executed === 'there'
        ? {
            providerExecuted: {
              ...(call.result ? { result: call.result.value } : {}),
              ...(call.result?.isError ? { isError: true as const } : {}),
            },
            providerData: { provider: executorOf(this.#rules), data: call.metadata },
          }
        : this.#data(call.metadata)),
    }));
  }

  #data(data: Metadata | undefined): { providerData?: ProviderData } {
    if (!data || Object.keys(data).length === 0) return {};
    return { providerData: { provider: this.#rules.family, data } };
  }
}

function isBlock(part: Block | MediaPart): part is Block {
  return part.type === 'text' || part.type === 'reasoning';
}

/** Namespaces merge field by field: a signature arrives after the start that named the item. */
function merge(
  into: Metadata,
  metadata: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined,
): void {
  for (const [namespace, fields] of Object.entries(metadata ?? {})) {
    into[namespace] = { ...into[namespace], ...fields };
  }
}

function uniqueId(id: string, used: Set<string>): string {
  let unique = id;
  for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`;
  used.add(unique);
  return unique;
}
