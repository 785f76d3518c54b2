import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, limitProblem, refuseUnknownOptions } from '../../core/known-options.ts';
import { bindTemplate } from '../../core/log/prompt-identity.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { checkPrices } from '../request/prices.ts';
import { UsagePool } from '../request/shared-usage.ts';
import type { Budget, ChildOptions, EvaluateOptions } from './provider-adapter.ts';

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
const LIMITS: KnownOptions<NonNullable<EvaluateOptions['limits']>> = {
  model: true,
  maxTokens: true,
  maxOutputTokens: true,
};

/** Refuses options that do not exist, and numbers that would make the loop spin or stand still. */
export function checkOptions(
  options: EvaluateOptions,
  of: 'evaluate' | 'ctx.evaluate' | 'createAgent' = 'evaluate',
): void {
  const { over, ...budget } = options.budget ?? {};
  refuseUnknownOptions(of, options, of === 'ctx.evaluate' ? CHILD_OPTIONS : EVALUATE_OPTIONS);
  refuseUnknownOptions('budget', options.budget, BUDGET);
  refuseUnknownOptions('limits', options.limits, LIMITS);
  const numbers = {
    deadline: options.deadline === undefined ? undefined : Number(options.deadline),
    maxTurns: options.maxTurns,
    outputRetries: options.outputRetries,
    wait: typeof options.wait === 'boolean' ? undefined : options.wait,
    ...budget,
  };
  const problem = limitProblem(numbers);
  if (problem) throw new HoldfastError('INVALID_ARGUMENT', problem);
  if (over !== undefined && over !== 'evaluation' && over !== 'session' && !(over instanceof UsagePool)) {
    const wrong = `budget.over is 'evaluation', 'session' or what createSharedUsage returned, not ${JSON.stringify(over)}`;
    throw new HoldfastError('INVALID_ARGUMENT', wrong);
  }
  checkPrices(options.prices ?? {});
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'signal is not an AbortSignal; give the signal of an AbortController');
  }
  const { history, onEvent, evaluationId } = options;
  if (history !== undefined && typeof history !== 'function' && typeof history?.curate !== 'function') {
    throw new HoldfastError('INVALID_ARGUMENT', 'history is a history manager, or a function of the messages');
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw new HoldfastError('INVALID_ARGUMENT', `onEvent is a function, not ${typeof onEvent}`);
  }
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

/** The instructions with their params. Throws `INVALID_ARGUMENT` when some are missing. */
export function boundInstructions(
  { ns, key, instructions }: Prompt<unknown>,
  { params = {} }: Pick<EvaluateOptions, 'params'>,
): string {
  const { text, missing } = bindTemplate(instructions, params);
  if (missing.length === 0) return text;
  throw new HoldfastError('INVALID_ARGUMENT', `prompt ${ns}/${key} needs params: ${missing.join(', ')}`);
}
