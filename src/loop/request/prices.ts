import { HoldfastError } from '../../core/errors.ts';
import type { Usage } from '../../core/log/usage.ts';

/** What a model's tokens cost, in US dollars per million. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input tokens read from the provider's prompt cache; like other input unless given. */
  readonly cacheRead?: number;
  /** Input tokens written to the provider's prompt cache; like other input unless given. */
  readonly cacheWrite?: number;
}

/** Prices by model id. A dated version such as `name-2025-08-07` has the price of `name` unless it has its own. */
export type Prices = Readonly<Record<string, Price>>;

const MILLION = 1_000_000;
const DATE = /^-\d{4,}[\d-]*$/;

/** The price of the first of these models that has one. */
export function priceOf(prices: Prices, models: readonly (string | undefined)[]): Price | undefined {
  for (const model of models) {
    if (model === undefined) continue;
    if (Object.hasOwn(prices, model)) return prices[model];
    const undated = Object.keys(prices).find((name) => model.startsWith(name) && DATE.test(model.slice(name.length)));
    if (undated !== undefined) return prices[undated];
  }
  return undefined;
}

/** What a usage costs at a price. */
export function costOf(usage: Usage, price: Price): number {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  const uncached = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  return (
    (uncached * input + cachedInputTokens * cacheRead + cacheWriteTokens * cacheWrite + outputTokens * output) / MILLION
  );
}

/** A usage with its cost: the one that the model reported, or the one that its price gives. */
export function withCost(usage: Usage, prices: Prices, models: readonly (string | undefined)[]): Usage {
  if (usage.costUsd !== undefined) return usage;
  const price = priceOf(prices, models);
  return price ? { ...usage, costUsd: costOf(usage, price) } : usage;
}

/** Refuses prices that would make a limit meaningless. */
export function checkPrices(prices: Prices): void {
  for (const [model, price] of Object.entries(prices)) {
    for (const part of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
      const value = price[part];
      if (value === undefined && part.startsWith('cache')) continue;
      if (typeof value === 'number' && value >= 0) continue;
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `prices: ${part} of "${model}" is ${value}; give US dollars per million tokens, not negative`,
      );
    }
  }
}
