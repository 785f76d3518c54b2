/** The strategies that a person compares, as the address holds them. */
import type { Strategy } from 'holdfast/history';
import type { StrategyStep } from '../../../src/history/managers/strategy.ts';

/** The numbers that a manager takes: name, label, and what a new step starts with. */
export const MANAGERS: {
  readonly [M in StrategyStep['manager']]: readonly {
    readonly name: string;
    readonly label: string;
    readonly initial?: number;
  }[];
} = {
  passthrough: [],
  slidingWindow: [
    { name: 'size', label: 'size', initial: 20 },
    { name: 'low', label: 'low' },
  ],
  truncateToolResults: [{ name: 'maxLength', label: 'characters', initial: 1000 }],
  clearToolResults: [
    { name: 'size', label: 'size', initial: 10 },
    { name: 'low', label: 'low' },
  ],
  tokenBudget: [
    { name: 'max', label: 'tokens', initial: 8000 },
    { name: 'low', label: 'low' },
  ],
  summarize: [
    { name: 'size', label: 'size', initial: 20 },
    { name: 'low', label: 'low' },
  ],
};

/** What people call the managers. */
export const MANAGER_NAMES: Readonly<Record<StrategyStep['manager'], string>> = {
  passthrough: 'passthrough',
  slidingWindow: 'sliding window',
  truncateToolResults: 'truncate results',
  clearToolResults: 'clear results',
  tokenBudget: 'token budget',
  summarize: 'summarize',
};

export const MAX_STRATEGIES = 5;

const DEFAULT: readonly Strategy[] = [
  { steps: [{ manager: 'passthrough' }] },
  {
    steps: [
      { manager: 'truncateToolResults', maxLength: 1000 },
      { manager: 'slidingWindow', size: 20, low: 10 },
    ],
  },
];

/** A step with the numbers that its manager needs. */
export function newStep(manager: StrategyStep['manager']): StrategyStep {
  const given = MANAGERS[manager].flatMap(({ name, initial }) => (initial === undefined ? [] : [[name, initial]]));
  return { manager, ...Object.fromEntries(given) } as StrategyStep;
}

/** Sets or removes a number of a step. */
export function withNumber(step: StrategyStep, name: string, value: number | undefined): StrategyStep {
  const { [name]: _, ...rest } = step as unknown as Readonly<Record<string, unknown>>;
  return (value === undefined ? rest : { ...rest, [name]: value }) as unknown as StrategyStep;
}

/** Reads the strategies of an address; two to begin with when it has none, or something else. The server checks what they mean. */
export function parseStrategies(text: string | null): readonly Strategy[] {
  if (text === null) return DEFAULT;
  try {
    const read: unknown = JSON.parse(text);
    return isStrategies(read) ? read.slice(0, MAX_STRATEGIES) : DEFAULT;
  } catch {
    return DEFAULT;
  }
}

function isStrategies(value: unknown): value is readonly Strategy[] {
  const isStep = (step: unknown): boolean =>
    typeof step === 'object' && step !== null && 'manager' in step && Object.hasOwn(MANAGERS, String(step.manager));
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (one: { readonly steps?: unknown } | null) =>
        Array.isArray(one?.steps) && one.steps.length > 0 && one.steps.every(isStep),
    )
  );
}

/** The query of the replay route for some strategies. */
export function replayQuery(strategies: readonly Strategy[]): string {
  return strategies.map((strategy) => `strategy=${encodeURIComponent(JSON.stringify(strategy))}`).join('&');
}
