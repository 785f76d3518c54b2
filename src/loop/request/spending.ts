import type { RaisedBudget } from '../../core/log/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../../core/log/usage.ts';
import type { Budget } from '../evaluate/provider-adapter.ts';
import { currentEvaluation, type Run } from '../evaluate/run.ts';
import { Suspension } from '../evaluate/suspension.ts';
import { costOf, type Prices, priceOf } from './prices.ts';
import { mainEvaluations, UsagePool } from './shared-usage.ts';
import { type LedgerEntry, usageLedger } from './usage-ledger.ts';

/** Budgets are compared with the usage in the log, of one evaluation with its children, of the session or of all that share one (D23, D66). */

/** Turns before an evaluation is suspended, unless the caller sets `maxTurns`: a loop without progress must not cost much. */
const DEFAULT_MAX_TURNS = 100;

/** Throws when the next model call of this run would go beyond its budget, its turns, or the budget of a run above it. */
export function checkBudget(run: Run, turn: number): void {
  const { budget, maxTurns } = run.options;
  checkSpending(spentBy(run, budget), turn, { budget, maxTurns });
  for (let above = run.parent; above; above = above.parent) {
    const { budget: its } = above.options;
    if (its) checkSpending(spentBy(above, its), 0, { budget: its });
  }
}

/** Throws when the next model call would go beyond the budget or the turns allowed. Usage is the log's: it adds up (D23). */
function checkSpending(
  spent: Usage,
  turn: number,
  allowed: { readonly budget?: Budget | undefined; readonly maxTurns?: number | undefined },
): void {
  const { budget, maxTurns = DEFAULT_MAX_TURNS } = allowed;
  if (turn > maxTurns) {
    throw new Suspension('TURN_LIMIT', `${maxTurns} turns were not enough; resume with a higher maxTurns to continue`, {
      limit: { name: 'maxTurns', max: maxTurns, used: turn - 1 },
    });
  }
  for (const { name, what, amount } of LIMITS) {
    const max = budget?.[name];
    if (max === undefined || amount(spent) < max) continue;
    const used = Number(amount(spent).toFixed(6));
    const where = budget?.over === 'session' ? ' in this session' : poolOf(budget) ? ' by all that share them' : '';
    throw new Suspension(
      'BUDGET_EXCEEDED',
      `${used} of ${max} ${what} are used up${where}; resume with a larger budget to continue`,
      { limit: { name, max, used } },
    );
  }
}

interface Limit {
  readonly name: keyof RaisedBudget;
  readonly what: string;
  readonly amount: (spent: Usage) => number;
}

const LIMITS: readonly Limit[] = [
  { name: 'maxTokens', what: 'tokens', amount: ({ inputTokens, outputTokens }) => inputTokens + outputTokens },
  { name: 'maxInputTokens', what: 'input tokens', amount: ({ inputTokens }) => inputTokens },
  { name: 'maxOutputTokens', what: 'output tokens', amount: ({ outputTokens }) => outputTokens },
  { name: 'maxCostUsd', what: 'dollars', amount: ({ costUsd = 0 }) => costUsd },
];

/** What is left of each limit that holds for a run, its own and those of the runs above it. */
export function remainingBudget(run: Run): RaisedBudget {
  const left: { -readonly [Name in keyof RaisedBudget]: RaisedBudget[Name] } = {};
  for (let holder: Run | undefined = run; holder; holder = holder.parent) {
    const { budget } = holder.options;
    const limits = LIMITS.filter(({ name }) => budget?.[name] !== undefined);
    if (limits.length === 0) continue;
    const spent = spentOrAll(holder, budget);
    for (const { name, amount } of limits) {
      left[name] = Math.min(left[name] ?? Number.POSITIVE_INFINITY, Math.max(0, (budget?.[name] ?? 0) - amount(spent)));
    }
  }
  return Object.freeze(left);
}

/** A cost that cannot be measured suspends before the next request: nothing is left of its limit. */
function spentOrAll(run: Run, budget: Budget | undefined): Usage {
  try {
    return spentBy(run, budget);
  } catch {
    const { maxCostUsd: costUsd = 0, ...others } = budget ?? {};
    return { ...spentBy(run, others), costUsd };
  }
}

/** Counts a run's evaluation in the usage that its budget shares, unless a run above it is counted there. */
export function joinSharedUsage(run: Run): (() => void) | undefined {
  const pool = poolOf(run.options.budget);
  for (let above = run.parent; above; above = above.parent) {
    if (poolOf(above.options.budget) === pool) return undefined;
  }
  return pool?.count(run.session, run.evaluationId);
}

function poolOf(budget: Budget | undefined): UsagePool | undefined {
  return budget?.over instanceof UsagePool ? budget.over : undefined;
}

/** The cost that is left for this evaluation, for agents that enforce the limit themselves. */
export function costLimitOf(run: Run): number | undefined {
  const { budget } = run.options;
  if (budget?.maxCostUsd === undefined) return undefined;
  const own = currentEvaluation(run).totalUsage.costUsd ?? 0;
  const before = budget.over === 'session' ? usageBefore(run).costUsd : (poolOf(budget)?.total.costUsd ?? own) - own;
  return Math.max(0, budget.maxCostUsd - (before ?? 0));
}

function spentBy(run: Run, budget: Budget | undefined): Usage {
  const ofSession = budget?.over === 'session';
  const usage = ofSession
    ? addUsage(usageBefore(run), currentEvaluation(rootOf(run)).totalUsage)
    : currentEvaluation(run).totalUsage;
  const shared = poolOf(budget)?.total ?? usage;
  // An agent with a loop of its own reports a cost when it ends, or holds the limit itself.
  if (budget?.maxCostUsd === undefined || run.agent) return shared;
  const entry = usageLedger(run.session).entryOf(ofSession ? undefined : run.evaluationId);
  const unrecorded = measuredCost(run, usage, entry, budget.maxCostUsd) - (usage.costUsd ?? 0);
  return { ...shared, costUsd: (shared.costUsd ?? 0) + unrecorded };
}

/** The cost of a usage: the recorded cost, and the prices of the rest. Suspends when neither is known. */
function measuredCost(run: Run, usage: Usage, entry: LedgerEntry, max: number): number {
  const prices = pricesOf(run);
  let cost = usage.costUsd ?? 0;
  for (const [model, part] of [...entry.withoutCost, ...summariesWithoutCost(run, usage, entry)]) {
    const price = priceOf(prices, [model]);
    if (!price) throw unmeasured(max, `"${model || run.model.modelId}" reports no cost`);
    cost += costOf(part, price);
  }
  if (currentEvaluation(run).turn > 0 && usage.inputTokens + usage.outputTokens === 0) {
    throw unmeasured(max, `"${run.model.modelId}" reports no usage`);
  }
  return cost;
}

/** Summaries are charged without a record of their own: what the records do not account for is theirs. */
function summariesWithoutCost(run: Run, usage: Usage, { all }: LedgerEntry): readonly (readonly [string, Usage])[] {
  const inputTokens = usage.inputTokens - all.inputTokens;
  const outputTokens = usage.outputTokens - all.outputTokens;
  const hasCost = (usage.costUsd ?? 0) - (all.costUsd ?? 0) > 1e-9;
  if (inputTokens + outputTokens <= 0 || hasCost) return [];
  return [[run.summaryModel.modelId, { inputTokens, outputTokens }]];
}

function unmeasured(max: number, why: string): Suspension {
  return new Suspension(
    'BUDGET_EXCEEDED',
    `maxCostUsd cannot be measured: ${why} and prices has no entry for it; resume with prices, or without maxCostUsd`,
    { limit: { name: 'maxCostUsd', max } },
  );
}

/** Prices of this evaluation, then those of its adapter. */
export function pricesOf(run: Run): Prices {
  const { prices } = rootOf(run).options;
  return prices ? { ...run.prices, ...prices } : run.prices;
}

/**
 * What the other evaluations of the session used. Added up once per evaluation: while this process holds the lease, only its own
 * evaluation and the children of it grow.
 */
function usageBefore(run: Run): Usage {
  const root = rootOf(run);
  let before = usedBefore.get(root);
  if (!before) {
    before = mainEvaluations(run.session)
      .filter(({ id }) => id !== root.evaluationId)
      .reduce((sum, { totalUsage }) => addUsage(sum, totalUsage), NO_USAGE);
    usedBefore.set(root, before);
  }
  return before;
}

const usedBefore = new WeakMap<Run, Usage>();

/** The run of the main conversation: it has the deadline. */
export function rootOf(run: Run): Run {
  let root = run;
  while (root.parent) root = root.parent;
  return root;
}
