/** Why providers fail: what a retry may help, and what only a shorter request does. */

/** Whether asking again may help: a timeout, a conflict, a limit, or the provider's own failure. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** A provider's reason for refusing a request. */
export interface Refusal {
  readonly status?: number | undefined;
  /** The provider's own name of the error. */
  readonly code?: string | undefined;
  /** The message, with as much of the response's body as there is. */
  readonly text: string;
}

/** The body of a refusal may repeat the whole request: only its beginning is the provider's. */
const MOST_TEXT = 4_000;

/** Statuses that no length of a request causes: the key, the account, the model's name, the provider's own trouble. */
const OTHER_REASONS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 408, 409]);

/** How providers say that a request has more tokens than the model reads. */
const TOO_LONG: readonly RegExp[] = [
  /context[_ ]length[_ ]exceeded|model_context_window_exceeded/i, // OpenAI, Azure, Groq; gateways
  /maximum (context|model|prompt|input) length/i, // OpenAI, DeepSeek, OpenRouter, vLLM, Mistral; Bedrock's Llama; xAI
  /exceeds? (the|this model's) (context window|available context size)/i, // OpenAI Responses, llama.cpp
  /exceed_context_size_error/i, // llama.cpp
  /prompt is too long/i, // Anthropic
  /exceed context limit/i, // Anthropic: input length and `max_tokens`
  /request_too_large|request (exceeds|size exceeds) the maximum size/i, // Anthropic: the body
  /input token count.{0,80}(exceeds the maximum|only supports up to)/i, // Google, Vertex
  /exceeds the maximum number of tokens/i, // Google
  /input is too long/i, // Bedrock
  /too many (input )?tokens(?!.*(\bwait\b|per (second|minute|day)))/i, // Bedrock, Cohere; a rate limit is no length
  /reduce the length of the (messages|prompt)/i, // Groq, older OpenAI models
  /request too large for/i, // OpenAI, Groq: more tokens in one request than a minute's limit
  /greater than the context length/i, // LM Studio
];

/** More tokens in one request than a minute's limit: a 429 that waiting does not cure. */
const TOO_LARGE_FOR_LIMIT = /request too large for/i;

/** Whether a provider refused a request because it is too long: a shorter one may be accepted, the same one never. Pure. */
export function isTooLong({ status, code = '', text }: Refusal): boolean {
  if (status === 413) return true;
  const reason = `${code} ${text.slice(0, MOST_TEXT)}`;
  if (status === 429) return TOO_LARGE_FOR_LIMIT.test(reason);
  if (status !== undefined && (status < 400 || status >= 500 || OTHER_REASONS.has(status))) return false;
  return TOO_LONG.some((pattern) => pattern.test(reason));
}
