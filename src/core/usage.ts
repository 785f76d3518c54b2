/** Tokens and, where known, money that model answers cost. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input tokens: read from the provider's prompt cache. */
  readonly cachedInputTokens?: number;
  /** Of the input tokens: written to the provider's prompt cache. */
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly costUsd?: number;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

const OPTIONAL = ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens', 'costUsd'] as const;

/** The sum of two usages; a field neither has stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
  for (const field of OPTIONAL) {
    if (a[field] !== undefined || b[field] !== undefined) sum[field] = (a[field] ?? 0) + (b[field] ?? 0);
  }
  return sum;
}
