import { HoldfastError } from '../core/errors.ts';
import type { AssistantMessage, ConversationMessage, ReasoningPart, TextPart, ToolCall } from '../core/log/messages.ts';
import type { Usage } from '../core/log/usage.ts';
import { type Model, ModelError, type ModelPart, type ModelRequest, type ModelResponse } from '../ports/model.ts';
import { isRetryableStatus, isTooLong } from './refusals.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * A model with fixed responses: for tests, demos and examples. It keeps no state, so a process that resumes a
 * conversation gets from its own copy the response that the process before it would have got.
 */

/** One response of a scripted model; a string is a response of that text. */
export type ScriptedTurn =
  | string
  | {
      readonly text?: string;
      readonly reasoning?: string;
      /**
       * Fails with this status, after the reasoning and the text were streamed: without them, at once. A `message` or `code` that
       * providers use for a request that is too long, such as `context_length_exceeded`, makes it one.
       */
      readonly error?: {
        readonly status: number;
        readonly retryAfterMs?: number;
        readonly message?: string;
        readonly code?: string;
      };
      /** A string is sent as it is written, valid JSON or not; anything else as JSON. An id is sent as it is written too. */
      readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown; readonly id?: string }[];
      /** The usage of the response; absent, a fixed price: so many tokens a message sent, and the response's length. */
      readonly usage?: Usage;
    };

/** The responses of a scripted model: the nth turn of a list, or a function of the request. */
export type Script = readonly ScriptedTurn[] | ((request: ModelRequest) => ScriptedTurn | Promise<ScriptedTurn>);

/** How a scripted model speaks. */
export interface ScriptedModelOptions {
  readonly provider?: string;
  readonly modelId?: string;
  /** Awaited before every part of the stream: a delay for a demo, a gate for a test. Aborting ends the wait. */
  readonly beforePart?: (part: ModelPart, request: ModelRequest) => Promise<void> | void;
}

/**
 * A model that responds with `script[request.turn - 1]`, or with what the function returns. Past the end of the script it fails with
 * an error that is not retried. Text is streamed word by word; calls without an id get `call_<turn>_<n>`, n from 1.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): Model {
  const { provider = 'scripted', modelId = 'scripted', beforePart } = options;
  if (typeof script !== 'function' && !Array.isArray(script)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'scriptedModel takes a list of turns or a function of the request');
  }
  return {
    provider,
    modelId,
    stream(request) {
      const { signal } = request;
      let response: StreamedTurn | undefined;
      let count = 0;
      const next = async (): Promise<IteratorResult<ModelPart, undefined>> => {
        signal?.throwIfAborted();
        if (!response) {
          const made = respond(request);
          response = made instanceof Promise ? await made : made; // no turn of the event loop for a script
        }
        const part = response.parts[count++];
        if (!part) {
          if (response.error) throw response.error;
          return { done: true, value: undefined };
        }
        if (beforePart) await untilAborted(Promise.resolve(beforePart(part, request)), signal);
        signal?.throwIfAborted();
        return { done: false, value: part };
      };
      return { [Symbol.asyncIterator]: () => ({ next }) };
    },
  };

  function respond(request: ModelRequest): StreamedTurn | Promise<StreamedTurn> {
    const turn = typeof script === 'function' ? script(request) : script[request.turn - 1];
    return turn instanceof Promise ? turn.then((resolved) => streamed(resolved, request)) : streamed(turn, request);
  }

  function streamed(turn: ScriptedTurn | undefined, request: ModelRequest): StreamedTurn {
    if (turn === undefined) {
      const length = typeof script === 'function' ? 'no turn for it' : `${script.length} turns`;
      throw new ModelError(`the script has ${length}, and turn ${request.turn} was requested; add a turn to it`, {
        retryable: false,
      });
    }
    return read(typeof turn === 'string' ? { text: turn } : turn, request, modelId);
  }
}

type TurnParts = Exclude<ScriptedTurn, string>;

/** What a turn of the script streams, and the error that it ends with, if it does. */
interface StreamedTurn {
  readonly parts: readonly ModelPart[];
  readonly error?: ModelError;
}

function read(turn: TurnParts, request: ModelRequest, modelId: string): StreamedTurn {
  const parts: ModelPart[] = [];
  const content: (ReasoningPart | TextPart)[] = [];
  for (const type of ['reasoning', 'text'] as const) {
    const text = turn[type];
    if (!text) continue;
    const blockId = `${type}:${content.length}`;
    for (const delta of wordsOf(text)) parts.push({ type: `${type}-delta`, blockId, delta });
    content.push({ type, text });
  }
  if (turn.error) {
    const { status, retryAfterMs, code } = turn.error;
    const { message = `the script fails turn ${request.turn} with status ${status}${code ? ` (${code})` : ''}` } =
      turn.error;
    const tooLong = isTooLong({ status, code, text: message });
    const error = new ModelError(message, {
      status,
      tooLong,
      retryable: !tooLong && isRetryableStatus(status),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
    return { parts, error };
  }
  const toolCalls: ToolCall[] = [];
  for (const call of turn.toolCalls ?? []) {
    const text = typeof call.arguments === 'string' ? call.arguments : (JSON.stringify(call.arguments) ?? '');
    const blockId = `call:${toolCalls.length}`;
    for (const delta of wordsOf(text)) parts.push({ type: 'tool-input-delta', blockId, delta, toolName: call.name });
    toolCalls.push({
      callId: call.id ?? `call_${request.turn}_${toolCalls.length + 1}`,
      name: call.name,
      arguments: text,
    });
  }
  const response: ModelResponse = {
    content,
    toolCalls,
    usage: turn.usage ?? estimateUsage(request.messages, content, toolCalls),
    finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    model: modelId,
  };
  parts.push({ type: 'finish', response });
  return { parts };
}

/** Cuts a text after each run of white space: the pieces joined are the text. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

/** A message counts for this many tokens of input: a fixed price, so that a turn costs the same however long the conversation. */
const TOKENS_PER_MESSAGE = 32;

/** A price by rule, the same on every machine: fixed for the request, four characters to a token for the response. */
function estimateUsage(
  messages: readonly ConversationMessage[],
  content: AssistantMessage['content'],
  toolCalls: readonly ToolCall[],
): Usage {
  return {
    inputTokens: messages.length * TOKENS_PER_MESSAGE,
    outputTokens: Math.ceil(charactersIn(content, toolCalls) / 4),
  };
}

function charactersIn(content: AssistantMessage['content'], toolCalls: readonly ToolCall[]): number {
  let characters = 0;
  for (const part of content) characters += part.type === 'text' || part.type === 'reasoning' ? part.text.length : 0;
  for (const call of toolCalls) characters += call.name.length + call.arguments.length;
  return characters;
}
