import type { Usage } from '../core/log/usage.ts';

/** The counts of one response, as ours: the input includes the cached tokens. */
interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cached: number;
  readonly written: number;
  readonly reasoning: number;
  readonly costUsd?: number;
}

/** The usage of a response, without counts that are zero; undefined when no token was counted. */
export function tokenUsage(counts: TokenCounts): Usage | undefined {
  const { inputTokens, outputTokens, cached, written, reasoning, costUsd = 0 } = counts;
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  return {
    inputTokens,
    outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
    ...(costUsd > 0 && { costUsd }),
  };
}
