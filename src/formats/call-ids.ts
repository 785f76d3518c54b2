import { AskedCalls } from '../core/fold/asked-calls.ts';
import type { ToolCall } from '../core/log/messages.ts';

/**
 * Ids and names of tool calls as one provider API takes them. The log keeps what a model wrote, and ids repeat between turns (D11); a
 * request must have each id once, in the characters and the length that its API allows. The mapping is a function of the messages
 * alone, so that every request of a conversation starts like the one before it.
 */

/** Which ids a provider accepts. */
export interface CallIdRule {
  readonly fits: (id: string) => boolean;
  /** Makes an id that fits from one that does not; different ones from different ones. */
  readonly make: (id: string) => string;
}

/** Letters, digits, `_` and `-`, up to a length: OpenAI, Anthropic and most others. */
export function safeIds(maxLength: number): CallIdRule {
  return {
    fits: (id) => id.length <= maxLength && /^[a-zA-Z0-9_-]+$/.test(id),
    make: (id) => `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxLength - 9)}_${hashOf(id)}`,
  };
}

/** Exactly nine letters and digits: Mistral. */
export const NINE_CHARACTERS: CallIdRule = {
  fits: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
  make: (id) => `c${hashOf(id)}`,
};

/** Any characters, up to 40 of them: providers of which nothing else is known. */
export const SHORT_IDS: CallIdRule = {
  fits: (id) => id !== '' && id.length <= 40,
  make: (id) => `${id.slice(0, 31)}_${hashOf(id)}`,
};

/** The ids of one request's calls: `open` each assistant message's calls in turn, then ask for its results' ids. */
export class SentCallIds {
  readonly #rule: CallIdRule;
  readonly #used = new Set<string>();
  readonly #times = new Map<string, number>();
  #asked = new AskedCalls<true>([]);
  #ids: readonly string[] = [];

  constructor(rule: CallIdRule) {
    this.#rule = rule;
  }

  /** Ids for an assistant message's calls, in their order. Results pair with the nearest assistant message before them. */
  open(calls: readonly ToolCall[]): readonly string[] {
    this.#asked = new AskedCalls(calls);
    this.#ids = calls.map(({ callId }) => this.#unique(callId));
    return this.#ids;
  }

  /** The id of a result's call; of a result too many: the id of the last call that it can be of. */
  resultOf(callId: string): string {
    const place = this.#asked.addResult(callId, true);
    const { calls } = this.#asked;
    return this.#ids[place >= 0 ? place : calls.findLastIndex((call) => call.callId === callId)] ?? this.#fit(callId);
  }

  #unique(callId: string): string {
    for (let time = (this.#times.get(callId) ?? 0) + 1; ; time++) {
      const id = this.#fit(time === 1 ? callId : `${callId}_${time}`);
      if (this.#used.has(id)) continue;
      this.#used.add(id);
      this.#times.set(callId, time);
      return id;
    }
  }

  #fit(id: string): string {
    return this.#rule.fits(id) ? id : this.#rule.make(id);
  }
}

/** FNV-1a over UTF-16 units, 32 bits, in hexadecimal: enough to distinguish ids or parameters. */
export function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** Which tool names an API accepts. */
export interface NameRule {
  /** Matches each character that a name may not have. */
  readonly notAllowed: RegExp;
  readonly maxLength: number;
}

/** Letters, digits, `_` and `-`, up to a length. */
export function plainNames(maxLength: number): NameRule {
  return { notAllowed: /[^a-zA-Z0-9_-]/g, maxLength };
}

/** A tool's name as an API accepts it: a model may have invented the name. */
export function sentName(name: string, { notAllowed, maxLength }: NameRule): string {
  if (name !== '' && name.length <= maxLength && name.search(notAllowed) < 0) return name;
  return name.replaceAll(notAllowed, '_').slice(0, maxLength) || 'unknown';
}
