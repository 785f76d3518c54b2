import { HoldfastError } from '../core/errors.ts';
import type { SuspendReason } from '../core/events.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { Usage } from '../core/usage.ts';
import { untilAborted } from '../models/until-aborted.ts';
import type { Clock } from '../ports/clock.ts';
import { checkPrices } from './prices.ts';
import type { Budget, ChildOptions, EvaluateOptions } from './provider-adapter.ts';

/** Thrown inside the loop to leave an evaluation as it is, to be continued later (D13). Never leaves the loop. */
export class Suspension extends Error {
  readonly reason: SuspendReason;

  constructor(reason: SuspendReason, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** Turns before an evaluation is stopped, unless the caller says otherwise: a loop that makes no progress must not cost much. */
const DEFAULT_MAX_TURNS = 100;

/** What stops an evaluation from outside. One signal for all of it, so that whatever waits can listen. */
export interface Limits {
  /** Aborts on deadline, cancellation and loss of the lease; its reason is a `Suspension` or the conflict. */
  readonly signal: AbortSignal;
  /** Throws when the evaluation must stop now. */
  check(): void;
  /** Stops it for good: whatever runs ends with this reason, which no tool can take for its own failure. */
  stop(reason: unknown): void;
  dispose(): void;
}

/** The same limits for something that may have to end sooner. */
export function narrowed(limits: Limits, signal: AbortSignal): Limits {
  return { ...limits, signal, check: () => signal.throwIfAborted() };
}

/** No slash: ids of calls and children are joined with it. */
const EVALUATION_ID = /^[\w.:-]{1,200}$/;

const CHILD_OPTIONS: KnownOptions<ChildOptions> = {
  input: true,
  params: true,
  key: true,
  history: true,
  limits: true,
  budget: true,
  maxTurns: true,
  maxParallelCalls: true,
  outputRetries: true,
  promptValidation: true,
};
/** The options of `evaluate`. */
export const EVALUATE_OPTIONS: KnownOptions<EvaluateOptions> = {
  ...CHILD_OPTIONS,
  session: true,
  evaluationId: true,
  resume: true,
  continues: true,
  deadline: true,
  wait: true,
  prices: true,
  signal: true,
  recordProviderMetadata: true,
  onEvent: true,
};
const BUDGET: KnownOptions<Budget> = {
  maxTokens: true,
  maxInputTokens: true,
  maxOutputTokens: true,
  maxCostUsd: true,
  over: true,
};
const LIMITS: KnownOptions<NonNullable<EvaluateOptions['limits']>> = { model: true, maxTokens: true };

/** Refuses options that do not exist, and numbers that would make the loop spin or stand still. */
export function checkOptions(options: EvaluateOptions, of: 'evaluate' | 'ctx.evaluate' = 'evaluate'): void {
  const { over, ...budget } = options.budget ?? {};
  refuseUnknownOptions(of, options, of === 'evaluate' ? EVALUATE_OPTIONS : CHILD_OPTIONS);
  refuseUnknownOptions('budget', options.budget, BUDGET);
  refuseUnknownOptions('limits', options.limits, LIMITS);
  const numbers = {
    deadline: options.deadline === undefined ? undefined : Number(options.deadline),
    maxTurns: options.maxTurns,
    outputRetries: options.outputRetries,
    wait: typeof options.wait === 'boolean' ? undefined : options.wait,
    ...budget,
  };
  const problem = budgetProblem(numbers);
  if (problem) throw new HoldfastError('INVALID_ARGUMENT', problem);
  if (over !== undefined && over !== 'evaluation' && over !== 'session') {
    throw new HoldfastError('INVALID_ARGUMENT', `budget.over is 'evaluation' or 'session', not "${over}"`);
  }
  checkPrices(options.prices ?? {});
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'signal is not an AbortSignal; give the signal of an AbortController');
  }
  const { evaluationId } = options;
  if (evaluationId !== undefined && !EVALUATION_ID.test(evaluationId)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'evaluationId is up to 200 letters, digits, _, -, . and :');
  }
  const { continues = false, resume, key } = options;
  if (continues !== false && resume === 'auto' && key === undefined) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      "continues with resume: 'auto' needs a key: without one a message that repeats the one before, such as a second \"ok\", would be taken for it; give the message's id as key",
    );
  }
  const { maxParallelCalls = 1 } = options;
  if (!(maxParallelCalls >= 1)) {
    throw new HoldfastError('INVALID_ARGUMENT', `maxParallelCalls is ${maxParallelCalls}; at least one call must run`);
  }
}

/** Why one of these limits is none, or undefined. */
export function budgetProblem(limits: Readonly<Record<string, number | undefined>>): string | undefined {
  const wrong = Object.entries(limits).find(([, value]) => value !== undefined && !(value >= 0));
  return wrong && `${wrong[0]} is ${wrong[1]}; give a number that is not negative, or leave it out`;
}

/** Watches deadline, cancellation and lease. */
export function watchLimits(options: {
  readonly clock: Clock;
  readonly deadline?: Date | number | undefined;
  readonly signals: readonly AbortSignal[];
  readonly cancel?: AbortSignal | undefined;
}): Limits {
  const { clock, cancel } = options;
  const controller = new AbortController();
  const stops: (() => void)[] = [];
  const abort = (reason: unknown): void => controller.abort(reason);

  if (options.deadline !== undefined) {
    const deadline = Number(options.deadline);
    const expire = (): void =>
      abort(new Suspension('DEADLINE_EXCEEDED', 'the deadline has passed; resume with a later one'));
    // Timers fire early and at most 24 days ahead: look at the clock again when one does.
    const arm = (): void => {
      const left = deadline - clock.now();
      if (left <= 0) expire();
      else stops.push(clock.after(left, arm, { background: true }));
    };
    arm();
  }
  if (cancel)
    listen(cancel, () =>
      abort(new Suspension('CANCELLED', 'it was cancelled; resume it to go on', { cause: cancel.reason })),
    );
  for (const signal of options.signals) listen(signal, () => abort(signal.reason));

  function listen(signal: AbortSignal, react: () => void): void {
    if (signal.aborted) react();
    else {
      signal.addEventListener('abort', react, { once: true });
      stops.push(() => signal.removeEventListener('abort', react));
    }
  }

  return {
    signal: controller.signal,
    check: () => controller.signal.throwIfAborted(),
    stop: abort,
    dispose: () => {
      for (const stop of stops) stop();
    },
  };
}

/** Throws when the next model call would go beyond the budget or the turns allowed. Usage is the log's: it adds up (D23). */
export function checkSpending(
  spent: Usage,
  turn: number,
  allowed: { readonly budget?: Budget | undefined; readonly maxTurns?: number | undefined },
): void {
  const { budget, maxTurns = DEFAULT_MAX_TURNS } = allowed;
  if (turn > maxTurns) {
    throw new Suspension('TURN_LIMIT', `${maxTurns} turns were not enough; resume with a higher maxTurns to go on`);
  }
  const over = (what: string, used: number, limit: number | undefined): void => {
    if (limit === undefined || used < limit) return;
    const where = budget?.over === 'session' ? ' in this session' : '';
    throw new Suspension(
      'BUDGET_EXCEEDED',
      `${Number(used.toFixed(6))} of ${limit} ${what} are used up${where}; resume with a larger budget to go on`,
    );
  };
  over('tokens', spent.inputTokens + spent.outputTokens, budget?.maxTokens);
  over('input tokens', spent.inputTokens, budget?.maxInputTokens);
  over('output tokens', spent.outputTokens, budget?.maxOutputTokens);
  over('dollars', spent.costUsd ?? 0, budget?.maxCostUsd);
}

/** Waits, unless the signal aborts first; then throws its reason, and no timer is left to keep the process alive. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await untilAborted(passed, signal);
  } finally {
    cancel();
  }
}
