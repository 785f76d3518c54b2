import { HoldfastError } from '../../core/errors.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import type { BuiltInManager } from '../history-manager.ts';
import { type ClearToolResultsOptions, clearToolResults } from './clear-tool-results.ts';
import { compose } from './compose.ts';
import { passthrough } from './passthrough.ts';
import { type SlidingWindowOptions, slidingWindow } from './sliding-window.ts';
import { type SummarizeOptions, summarize } from './summarize.ts';
import { type TokenBudgetOptions, tokenBudget } from './token-budget.ts';
import { type TruncateToolResultsOptions, truncateToolResults } from './truncate-tool-results.ts';

/**
 * History strategies as plain JSON, so that a page can choose one: the built-in managers whose options are data, composed in order.
 *
 *     { "steps": [{ "manager": "truncateToolResults", "maxLength": 1000 }, { "manager": "slidingWindow", "size": 20 }] }
 */

/** One built-in manager with its options. */
export type StrategyStep =
  | { readonly manager: 'passthrough' }
  | ({ readonly manager: 'slidingWindow' } & SlidingWindowOptions)
  | ({ readonly manager: 'truncateToolResults' } & TruncateToolResultsOptions)
  | ({ readonly manager: 'clearToolResults' } & ClearToolResultsOptions)
  | ({ readonly manager: 'tokenBudget' } & Pick<TokenBudgetOptions, 'max' | 'low'>)
  | ({ readonly manager: 'summarize' } & SummarizeOptions);

/** Managers that are applied one after the other, each to what the one before it left. */
export interface Strategy {
  readonly steps: readonly StrategyStep[];
}

type FieldKind = 'number' | 'text' | 'names';

/** A manager that JSON may name: what it is called in events, the options that it takes from JSON, and how it is made. It checks ranges itself. */
interface ListedManager {
  readonly name: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
  readonly make: (options: never) => BuiltInManager;
}

const WINDOW = { size: 'number', low: 'number' } as const;
const MANAGERS: { readonly [M in StrategyStep['manager']]: ListedManager } = {
  passthrough: { name: 'passthrough', fields: {}, make: passthrough },
  slidingWindow: { name: 'sliding-window', fields: WINDOW, make: slidingWindow },
  truncateToolResults: {
    name: 'truncate-tool-results',
    fields: { maxLength: 'number', suffix: 'text', tools: 'names' },
    make: truncateToolResults,
  },
  clearToolResults: {
    name: 'clear-tool-results',
    fields: { ...WINDOW, note: 'text', tools: 'names' },
    make: clearToolResults,
  },
  tokenBudget: { name: 'token-budget', fields: { max: 'number', low: 'number' }, make: tokenBudget },
  summarize: {
    name: 'summarize',
    fields: { ...WINDOW, ahead: 'number', instructions: 'text', maxTokens: 'number', preamble: 'text' },
    make: summarize,
  },
};

const MAX_STEPS = 8;
const MAX_TEXT = 10_000;
const MAX_NAMES = 100;

/** Builds the manager that a strategy describes. Throws `INVALID_ARGUMENT` and names the field for anything that is no strategy. */
export function strategyManager(strategy: Strategy): BuiltInManager {
  const steps: unknown = isRecord(strategy) ? strategy.steps : undefined;
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > MAX_STEPS) {
    throw invalid(`a strategy is { steps: […] } with 1 to ${MAX_STEPS} steps`);
  }
  const other = Object.keys(strategy).find((name) => name !== 'steps');
  if (other !== undefined) throw invalid(`a strategy has no field ${quoted(other)}; it has: steps`);
  const managers = steps.map(managerOfStep);
  return managers.length === 1 ? (managers[0] as BuiltInManager) : compose(...managers);
}

function managerOfStep(value: unknown, position: number): BuiltInManager {
  const at = `steps[${position}]`;
  if (!isRecord(value)) throw invalid(`${at} must be an object such as { "manager": "slidingWindow", "size": 20 }`);
  const { manager, ...options } = value;
  if (typeof manager !== 'string' || !Object.hasOwn(MANAGERS, manager)) {
    throw invalid(`${at}.manager must be one of ${Object.keys(MANAGERS).join(', ')}`);
  }
  const { fields, make } = MANAGERS[manager as StrategyStep['manager']];
  for (const [name, option] of Object.entries(options)) {
    const kind = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!kind) {
      const known = Object.keys(fields).join(', ') || 'none';
      throw invalid(`${at}: ${manager} has no option ${quoted(name)}; it has: ${known}`);
    }
    const problem = fieldProblem(option, kind);
    if (problem) throw invalid(`${at}.${name} must be ${problem}`);
  }
  return make(options as never);
}

function fieldProblem(value: unknown, kind: FieldKind): string | undefined {
  if (kind === 'number') return typeof value === 'number' && Number.isFinite(value) ? undefined : 'a number';
  if (kind === 'text') {
    return typeof value === 'string' && value.length <= MAX_TEXT ? undefined : `text of at most ${MAX_TEXT} characters`;
  }
  const fits =
    Array.isArray(value) &&
    value.length <= MAX_NAMES &&
    value.every((name) => typeof name === 'string' && name.length <= MAX_TEXT);
  return fits ? undefined : `a list of at most ${MAX_NAMES} names of tools`;
}

/**
 * The strategy that a recorded name describes, such as `truncate-tool-results(1000) + sliding-window(20, low 10)`; undefined for a manager
 * that is not built in or whose options are code. A name has only the numbers: a strategy with other texts, tools or shares rebuilds
 * requests that differ, so compare what it rebuilds with what was recorded.
 */
export function strategyFromName(name: string): Strategy | undefined {
  const steps: StrategyStep[] = [];
  for (const part of name.split(' + ')) {
    const [, kind = '', numbers = ''] = /^([a-z-]+)(?:\(([^()]*)\))?$/.exec(part) ?? [];
    const [manager, listed] = Object.entries(MANAGERS).find(([, { name }]) => name === kind) ?? [];
    const options = listed && optionsFromName(listed, numbers);
    if (!options) return undefined;
    steps.push({ manager, ...options } as unknown as StrategyStep);
  }
  return steps.length <= MAX_STEPS ? { steps } : undefined;
}

function optionsFromName({ fields }: ListedManager, numbers: string): Readonly<Record<string, number>> | undefined {
  const [first] = Object.keys(fields); // stands in the name without a label
  const options: Record<string, number> = {};
  for (const text of numbers === '' ? [] : numbers.split(', ')) {
    const [, label = first, digits = ''] = /^(?:(low|ahead) )?(\d+)$/.exec(text) ?? [];
    if (digits === '' || label === undefined) return undefined;
    options[label] = Number(digits);
  }
  return 'size' in fields && options.size === undefined ? undefined : options;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 50));
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}
