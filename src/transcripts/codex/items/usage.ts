import type { Usage } from '../../../core/log/usage.ts';
import { asCount, asObject, type Json } from '../../json-access.ts';
import { tokenUsage } from '../../token-usage.ts';

/** Converts Codex's usage. Its input tokens include the cached ones, as ours do. */
export function usageOf(value: unknown): Usage | undefined {
  const tokens = asObject(value);
  return tokenUsage({
    inputTokens: asCount(tokens?.input_tokens),
    outputTokens: asCount(tokens?.output_tokens),
    cached: asCount(tokens?.cached_input_tokens),
    written: asCount(tokens?.cache_write_input_tokens),
    reasoning: asCount(tokens?.reasoning_output_tokens),
  });
}

const FIELDS = ['input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_output_tokens'] as const;

/** Whether two counts of tokens are equal. */
export function sameTokens(a: Json, b: Json | undefined): boolean {
  return FIELDS.every((field) => asCount(a[field]) === asCount(b?.[field]));
}

/** What a total has more than an earlier one. A total that is lower in any field was counted from zero again, so all of it is new. */
export function grownTokens(total: Json, before: Json | undefined): Json {
  if (before === undefined || FIELDS.some((field) => asCount(total[field]) < asCount(before[field]))) return total;
  const fields = [...FIELDS, 'cache_write_input_tokens'] as const;
  return Object.fromEntries(fields.map((field) => [field, asCount(total[field]) - asCount(before[field])]));
}
