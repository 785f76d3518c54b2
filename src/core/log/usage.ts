/** The tokens and, if known, the money that responses cost. */
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

/** The sum of two usages; a field neither has stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
  const cachedInputTokens = added(a.cachedInputTokens, b.cachedInputTokens);
  const cacheWriteTokens = added(a.cacheWriteTokens, b.cacheWriteTokens);
  const reasoningTokens = added(a.reasoningTokens, b.reasoningTokens);
  const costUsd = added(a.costUsd, b.costUsd);
  if (cachedInputTokens !== undefined) sum.cachedInputTokens = cachedInputTokens;
  if (cacheWriteTokens !== undefined) sum.cacheWriteTokens = cacheWriteTokens;
  if (reasoningTokens !== undefined) sum.reasoningTokens = reasoningTokens;
  if (costUsd !== undefined) sum.costUsd = costUsd;
  return sum;
}

function added(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
