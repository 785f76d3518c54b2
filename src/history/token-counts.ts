import type { ConversationMessage } from '../core/log/messages.ts';
import { estimateTokens, type TokenEstimator } from './estimate-tokens.ts';

/** Tokens around a message: its role and the marks that providers put between messages. */
const PER_MESSAGE = 4;
/** An image of ordinary size; providers price by its dimensions, which are not decoded here. */
const PER_IMAGE = 1000;
/** A file costs at least this, and by its size when its content is here. */
const PER_FILE = 500;
const FILE_CHARACTERS_PER_TOKEN = 20;

/** Counts the tokens of a message. For a text on which the estimator fails, the default estimator is used. */
export function countTokens(message: ConversationMessage, estimator: TokenEstimator = estimateTokens): number {
  let tokens = PER_MESSAGE;
  for (const part of message.content) {
    if (part.type === 'text') tokens += count(part.text, estimator);
    else if (part.type === 'reasoning') tokens += count(part.text, estimator) + (part.redacted?.length ?? 0) / 4;
    else if (part.type === 'image') tokens += PER_IMAGE;
    else tokens += Math.max(PER_FILE, isReference(part.data) ? 0 : part.data.length / FILE_CHARACTERS_PER_TOKEN);
  }
  if (message.role === 'assistant' && message.toolCalls !== undefined) {
    for (const call of message.toolCalls) {
      tokens += PER_MESSAGE + count(call.name, estimator) + count(call.arguments, estimator);
      const result = call.providerExecuted?.result;
      if (result !== undefined) tokens += count(JSON.stringify(result) ?? '', estimator);
    }
  }
  return Math.ceil(tokens);
}

function isReference(data: string): boolean {
  return /^(sha256|https?):/.test(data);
}

function count(text: string, estimator: TokenEstimator): number {
  if (estimator === estimateTokens) return estimateTokens(text);
  try {
    const tokens = estimator(text);
    if (Number.isFinite(tokens) && tokens >= 0) return tokens;
  } catch {
    // Real tokenizers throw on their own control words, which a tool's output may contain.
  }
  return estimateTokens(text);
}

/** Counts each message once, for as long as the message object lives. */
export class TokenCounter {
  static readonly #counters = new WeakMap<TokenEstimator, TokenCounter>();
  readonly #estimator: TokenEstimator;
  readonly #counts = new WeakMap<ConversationMessage, number>();

  private constructor(estimator: TokenEstimator) {
    this.#estimator = estimator;
  }

  /** The counter of an estimator: one each, shared by everyone. */
  static of(estimator: TokenEstimator): TokenCounter {
    const known = TokenCounter.#counters.get(estimator);
    if (known) return known;
    const counter = new TokenCounter(estimator);
    TokenCounter.#counters.set(estimator, counter);
    return counter;
  }

  count(message: ConversationMessage): number {
    const known = this.#counts.get(message);
    if (known !== undefined) return known;
    const tokens = countTokens(message, this.#estimator);
    this.#counts.set(message, tokens);
    return tokens;
  }
}
