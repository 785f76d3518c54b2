import type { Usage } from '../../../src/core/log/usage.ts';
import type { ScriptedTurn } from '../../../src/models/scripted.ts';

/** The server's responses and requests: the shape of a scripted model's turns, plus what only HTTP can do. */

/** The supported APIs. */
export type Api = 'openai-chat' | 'openai-responses' | 'anthropic';

/** One response. `text` with `error` is an error within the stream, as in a scripted model. */
export type ServerTurn =
  | string
  | (Exclude<ScriptedTurn, string> & {
      /** Reasoning that is not shown: Anthropic's `redacted_thinking`. */
      readonly redacted?: string;
      /** A search that the provider runs itself, before the text. */
      readonly webSearch?: { readonly query: string; readonly url: string; readonly title: string };
      /** Anthropic's `pause_turn`: the client must send the turn back to get the rest. */
      readonly pause?: true;
      /** Stopped by the token limit. */
      readonly truncated?: true;
      /** Breaks after this many events: a broken connection, or one that closes normally. */
      readonly cut?: { readonly after: number; readonly how: 'reset' | 'end' };
    });

/** A request, as a script sees it. */
export interface ServerRequest {
  readonly api: Api;
  /** The assistant's turns in the request, plus one. */
  readonly turn: number;
  /** 1 for the first request for this turn, 2 for the next, … */
  readonly attempt: number;
  readonly body: Body;
}

/** Has no state except `attempt`: the nth turn of a list, or a function of the request. */
export type ServerScript = readonly ServerTurn[] | ((request: ServerRequest) => ServerTurn);

/** A turn with all its fields. */
export interface Answer extends Exclude<ServerTurn, string> {
  readonly turn: number;
  readonly model: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly usage: Usage;
}

/** A request's JSON, not yet checked. */
export type Body = { readonly [key: string]: unknown };

/** Normalises a turn: calls get ids, arguments become text. */
export function readTurn(turn: ServerTurn, request: ServerRequest): Answer {
  const said = typeof turn === 'string' ? { text: turn } : turn;
  const prefix = request.api === 'anthropic' ? 'toolu' : 'call';
  return {
    ...said,
    turn: request.turn,
    model: String(request.body.model),
    calls: (said.toolCalls ?? []).map((call, i) => ({
      id: call.id ?? `${prefix}_${request.turn}_${i + 1}`,
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    })),
    usage: said.usage ?? { inputTokens: 100 + request.turn, outputTokens: 10 },
  };
}

/** Words, each with the space after it. */
export function piecesOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

/** Whether a value is an object with fields. */
export function isRecord(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Why a request is rejected: the message, and the position of the error. */
export interface Refusal {
  readonly message: string;
  readonly param?: string;
}
