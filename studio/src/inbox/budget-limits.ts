/** Which limit of a budget a person raises, and to what: by the data of the suspension, never by its sentence (D3). */
import type { RaisedBudget } from '../../../src/core/log/waiting-events.ts';
import type { LimitItem } from '../../../src/server/inbox-items.ts';

export type BudgetLimit = keyof RaisedBudget;

/** How each limit is named on the page, in the order of the choice. */
export const BUDGET_LIMITS: { readonly [Name in BudgetLimit]: { readonly option: string; readonly label: string } } = {
  maxCostUsd: { option: 'Cost in dollars', label: 'Most dollars' },
  maxTokens: { option: 'Tokens', label: 'Most tokens' },
  maxInputTokens: { option: 'Input tokens', label: 'Most input tokens' },
  maxOutputTokens: { option: 'Output tokens', label: 'Most output tokens' },
};

/**
 * The limit that was reached. A log from before it was recorded has at most the one that was raised before; without that, the cost if
 * it is known, else the tokens.
 */
export function limitToRaise({ limit, raised, usage }: LimitItem): BudgetLimit {
  const known = [limit?.name, ...Object.keys(raised?.budget ?? {})].find(isBudgetLimit);
  return known ?? (usage.costUsd === undefined ? 'maxTokens' : 'maxCostUsd');
}

/** Twice of what was used; 0 when that is not known. */
export function suggestedMax({ limit, usage }: LimitItem, name: BudgetLimit): number {
  const used = (limit?.name === name ? limit.used : undefined) ?? usedBy(usage)[name];
  return name === 'maxCostUsd' ? Number((used * 2).toPrecision(2)) : used * 2;
}

/** What the evaluation used. */
function usedBy({ inputTokens, outputTokens, costUsd = 0 }: LimitItem['usage']): Required<RaisedBudget> {
  return {
    maxCostUsd: costUsd,
    maxTokens: inputTokens + outputTokens,
    maxInputTokens: inputTokens,
    maxOutputTokens: outputTokens,
  };
}

function isBudgetLimit(name: string | undefined): name is BudgetLimit {
  return name !== undefined && Object.hasOwn(BUDGET_LIMITS, name);
}
