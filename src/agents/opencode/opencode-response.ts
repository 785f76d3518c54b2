import type { AssistantMessage, ToolCall } from '../../core/log/messages.ts';
import type { Usage } from '../../core/log/usage.ts';
import { recordedName } from './built-in-tools.ts';
import type { OpenCodeMessage, OpenCodePart } from './opencode-types.ts';

/** OpenCode's events of one response, and what of it is not recorded yet. Its parts arrive one by one, in any state. */
export class OpenCodeResponse {
  readonly #parts = new Map<string, OpenCodePart>();
  /** The deltas of a text that is still being streamed. */
  readonly #streamed = new Map<string, string>();
  /** The parts that are recorded, and how much of their text. */
  readonly #written = new Map<string, number>();
  info: OpenCodeMessage | undefined;
  /** Nothing more is expected of it. */
  over = false;

  take(part: OpenCodePart): void {
    this.#parts.set(part.id, part);
  }

  /** Adds a delta. Returns its part, unless the whole text is known already. */
  addDelta(partId: string, delta: string): OpenCodePart | undefined {
    const part = this.#parts.get(partId);
    if (!part || this.over || part.time?.end !== undefined) return undefined;
    this.#streamed.set(partId, (this.#streamed.get(partId) ?? '') + delta);
    return part;
  }

  /**
   * Whether all of it has arrived. OpenCode sends a message's state at the time of sending, so the event of its creation may show it
   * as complete, before its parts.
   */
  get isComplete(): boolean {
    if (this.info?.time.completed === undefined) return false;
    return this.info.error !== undefined || [...this.#parts.values()].some(({ type }) => type === 'step-finish');
  }

  /** What is new: calls whose input is known, and text that is complete or has a call behind it. */
  takeNews(callIdOf: (part: OpenCodePart) => string): {
    readonly content: AssistantMessage['content'];
    readonly toolCalls: readonly ToolCall[];
  } {
    const parts = [...this.#parts.values()];
    const isNewCall = (part: OpenCodePart): boolean => isCall(part) && !this.#written.has(part.id);
    const lastCall = parts.findLastIndex(isNewCall);
    const content: AssistantMessage['content'][number][] = [];
    const toolCalls: ToolCall[] = [];
    for (const [i, part] of parts.entries()) {
      if (part.type === 'text' || part.type === 'reasoning') {
        const text = (part.time?.end === undefined && this.#streamed.get(part.id)) || (part.text ?? '');
        const before = this.#written.get(part.id) ?? 0;
        // Some providers end a text only with the whole response: a call ends the text before it.
        if (text.length <= before || !(part.time?.end !== undefined || this.over || i < lastCall)) continue;
        content.push({ type: part.type, text: text.slice(before) });
        this.#written.set(part.id, text.length);
      } else if (isNewCall(part)) {
        toolCalls.push({
          callId: callIdOf(part),
          name: recordedName(part.tool ?? ''),
          arguments: JSON.stringify(part.state?.input ?? {}),
          after: content.length,
        });
        this.#written.set(part.id, 0);
      }
    }
    return { content, toolCalls };
  }

  /** What it cost. */
  get usage(): Usage | undefined {
    const { tokens, cost } = this.info ?? {};
    if (!tokens) return undefined;
    return {
      inputTokens: tokens.input + tokens.cache.read + tokens.cache.write,
      outputTokens: tokens.output + tokens.reasoning,
      ...(tokens.cache.read > 0 && { cachedInputTokens: tokens.cache.read }),
      ...(tokens.cache.write > 0 && { cacheWriteTokens: tokens.cache.write }),
      ...(tokens.reasoning > 0 && { reasoningTokens: tokens.reasoning }),
      ...(cost !== undefined && cost > 0 && { costUsd: cost }),
    };
  }
}

/** Whether a part is a call whose input is known. */
function isCall({ type, callID, state }: OpenCodePart): boolean {
  return type === 'tool' && callID !== undefined && state !== undefined && state.status !== 'pending';
}
