import type { AssistantMessage, ConversationMessage, ToolCall } from '../core/log/messages.ts';
import type { Usage } from '../core/log/usage.ts';

/** A tool as it is described to a model. `inputSchema` is JSON Schema. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** For a tool that the provider defines and runs itself: its id and settings, for the provider that knows it. */
  readonly provider?: { readonly id: string; readonly args: Readonly<Record<string, unknown>> };
}

/** One request to a model. */
export interface ModelRequest {
  readonly messages: readonly ConversationMessage[];
  /** The turn that this request is for, from 1, counted from the log and never from the messages (D15). */
  readonly turn: number;
  readonly evaluationId: string;
  readonly prompt: { readonly ns: string; readonly key: string };
  readonly tools?: readonly ModelTool[];
  /** Requests JSON of this schema instead of prose. */
  readonly output?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
  readonly signal?: AbortSignal;
}

/** One part of a streamed response. A block is one run of text, one run of reasoning, or one call's arguments. */
export type ModelPart =
  | { readonly type: 'text-delta'; readonly blockId: string; readonly delta: string }
  | { readonly type: 'reasoning-delta'; readonly blockId: string; readonly delta: string }
  | { readonly type: 'tool-input-delta'; readonly blockId: string; readonly delta: string; readonly toolName: string }
  | { readonly type: 'finish'; readonly response: ModelResponse };

/** The complete response of a model. */
export interface ModelResponse {
  readonly content: AssistantMessage['content'];
  readonly toolCalls: readonly ToolCall[];
  readonly usage?: Usage;
  readonly finishReason?: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other';
  /** The provider's id of the response. */
  readonly providerMessageId?: string;
  readonly model?: string;
  /** The provider's metadata of the whole response, by provider: safety ratings, grounding, its own usage figures. */
  readonly providerMetadata?: Readonly<Record<string, unknown>>;
}

/**
 * Any language model.
 *
 * Contract: `stream` yields deltas in order and ends with exactly one `finish` part, which holds the complete response. It throws a
 * `ModelError` when the provider refuses the request or the connection breaks, with `tooLong` when the request has more tokens than the
 * model accepts. It stops soon after `signal` aborts.
 */
export interface Model {
  readonly provider: string;
  readonly modelId: string;
  stream(request: ModelRequest): AsyncIterable<ModelPart>;
}

/** Why a provider returned no response, and whether a retry may help. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly status?: number;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** The provider refused the request as too long: the loop sends a shorter one, once. */
  readonly tooLong?: true;

  constructor(
    message: string,
    options: {
      readonly status?: number;
      readonly retryable: boolean;
      readonly retryAfterMs?: number;
      readonly tooLong?: boolean;
      readonly cause?: unknown;
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.tooLong) this.tooLong = true;
  }
}
