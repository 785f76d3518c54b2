import type { HoldfastError } from '../../core/errors.ts';
import type { AnySlice, EventIn } from '../../core/fold/slices.ts';
import type { AdapterState } from '../../core/log/adapter-state.ts';
import type { ProviderFailure, ReachedLimit, SuspendReason } from '../../core/log/events.ts';
import type { MessageDelta } from '../../core/log/message-delta.ts';
import type { CallRef, MediaPart, TextPart } from '../../core/log/messages.ts';
import type { ToolProgress } from '../../core/log/progress.ts';
import type { Usage } from '../../core/log/usage.ts';
import type { History, Limits } from '../../history/history-manager.ts';
import type { Lease } from '../../ports/store.ts';
import type { AnySession, Session } from '../../session/session.ts';
import type { AnyParams, Prompt } from '../define/define-prompt.ts';
import type { Prices } from '../request/prices.ts';
import type { RecordProviderMetadata } from '../request/provider-metadata.ts';
import type { SharedUsage } from '../request/shared-usage.ts';

export type { MessageDelta } from '../../core/log/message-delta.ts';

/**
 * What an evaluation may cost in all, over every resume and every child conversation. Reaching it suspends; a resume with
 * a larger one continues.
 */
export interface Budget {
  readonly maxTokens?: number;
  readonly maxInputTokens?: number;
  readonly maxOutputTokens?: number;
  /** Needs models that report their cost, or `prices`; a cost that cannot be measured suspends. */
  readonly maxCostUsd?: number;
  /** What is counted: this evaluation, the default; all evaluations of the session; or all that share a usage, of any session. */
  readonly over?: 'evaluation' | 'session' | SharedUsage;
}

/**
 * Which evaluation to resume: none (`false`, the default), the newest of this prompt (`true`), one by id, the one
 * with equal input and params if it is open or finished (`'auto'`), or one whose adapter state was captured. `'auto'` throws
 * `PROMPT_MISMATCH` instead of starting beside an open evaluation of other params or of another prompt, and does not continue
 * one that was cancelled with `session.cancel`: its response is `suspended`.
 *
 * A new evaluation supersedes the open one of this prompt, and is a new request: its model may make the same calls again, under other
 * idempotency keys. `false`, and `'auto'` with other input, start one. So after a crash use `'auto'` with the same input, `true`, or `run`, and
 * settle or abandon open calls before you start a new one.
 */
export type ResumeOption =
  | boolean
  | 'auto'
  | { readonly evaluationId: string }
  | { readonly adapterState: AdapterState };

/** Options of `evaluate` and `stream`. */
export interface EvaluateOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]> {
  /** Without one the conversation lives in memory. */
  readonly session?: AnySession | Session<Slices>;
  readonly input?: string | readonly (TextPart | MediaPart)[];
  /** Values for `{{name}}` in the instructions: required, by name, when the compiler knows the text of these. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly resume?: ResumeOption;
  /**
   * The id of a new evaluation; a random one unless given. One that the session has already gets a number. Idempotency keys are
   * made from it: the same id in the same session gives the same keys.
   */
  readonly evaluationId?: string;
  /** Distinguishes equal inputs for `resume: 'auto'`; the same key with other input is `KEY_REUSED`. */
  readonly key?: string;
  /** Begin with the messages of an earlier evaluation: the newest (`true`) or one by id. */
  readonly continues?: boolean | string;
  /** How a changed prompt is judged on resume. */
  readonly promptValidation?: 'strict' | 'relaxed';
  /** What the provider sees of the conversation. */
  readonly history?: History;
  /** The most that a request may hold; a longer one is cut, coherently. */
  readonly limits?: Limits;
  /** When to stop: a date or milliseconds since the epoch. A resume brings its own. */
  readonly deadline?: Date | number;
  readonly budget?: Budget;
  /** Prices of models that report no cost, by model id; they take precedence over the adapter's. */
  readonly prices?: Prices;
  readonly signal?: AbortSignal;
  /**
   * Wait while another process runs the session, at most so many milliseconds (`true`: until `deadline` or `signal`), before
   * `SESSION_BUSY`. A lease that has expired by the clock of another machine is watched before it is taken over.
   */
  readonly wait?: boolean | number;
  /** How many turns it may take; 100 unless given. */
  readonly maxTurns?: number;
  /** How many calls of one turn run at the same time; all of them unless given. */
  readonly maxParallelCalls?: number;
  /** Records the provider's metadata of each response; by default the adapter's setting. */
  readonly recordProviderMetadata?: RecordProviderMetadata;
  /** How often a response that does not fit the output schema is returned to the model. */
  readonly outputRetries?: number;
  /** Called with every event as it happens: committed events and deltas. */
  onEvent?(event: EvaluationEvent<Slices>): void;
}

/** Options of a child conversation: it inherits session, deadline and signal. */
export type ChildOptions = Pick<
  EvaluateOptions,
  | 'input'
  | 'params'
  | 'key'
  | 'history'
  | 'limits'
  | 'budget'
  | 'maxTurns'
  | 'maxParallelCalls'
  | 'outputRetries'
  | 'promptValidation'
>;

/** Whether an event is a piece of a response. */
export function isMessageDelta(event: EvaluationEvent): event is MessageDelta {
  return event.type === 'message/delta';
}

/** Whether an event is a report of a running call. */
export function isToolProgress(event: EvaluationEvent): event is ToolProgress {
  return event.type === 'tool/progress' && !('seq' in event);
}

/** The model could not be reached and is asked again. */
export interface ModelRetried {
  readonly type: 'model/retried';
  readonly evaluationId: string;
  readonly turn: number;
  readonly attempt: number;
  readonly waitMs: number;
  readonly error: string;
}

/**
 * What `onEvent` and `stream` emit: events of the log after their commit, and what happens between two commits. `event.type === '…'`
 * narrows it.
 */
export type EvaluationEvent<Slices extends readonly AnySlice[] = readonly AnySlice[]> =
  | EventIn<Slices>
  | MessageDelta
  | ToolProgress
  | ModelRetried;

/** How an evaluation ended, or why it is suspended: see `status`. */
export type EvaluationResponse<Output = undefined> = CompletedResponse<Output> | SuspendedResponse;

/** What both kinds of response have. */
interface ResponseBase {
  readonly evaluationId: string;
  readonly sessionId: string;
  /** The text of the newest recorded response; the text of an interrupted response is in `message/interrupted`. */
  readonly text: string;
  /** Calls that wait for a person. */
  readonly pending: readonly CallRef[];
  readonly adapterState?: AdapterState;
  readonly usage: Usage;
  readonly turns: number;
}

/** The response of an evaluation that came to its end. */
export interface CompletedResponse<Output = undefined> extends ResponseBase {
  readonly status: 'completed';
  /** The final response as the output schema reads it; undefined for a prompt without one. */
  readonly output: Output;
  readonly reason?: undefined;
  readonly message?: undefined;
  readonly failure?: undefined;
  readonly limit?: undefined;
  readonly wakeAt?: undefined;
}

/** The response of an evaluation that can be continued: `resume` continues it. */
export interface SuspendedResponse extends ResponseBase {
  readonly status: 'suspended';
  readonly output?: undefined;
  readonly reason: SuspendReason;
  /** The reason in words, and what to do. */
  readonly message: string;
  /** Which provider failed, if `reason` is `PROVIDER_FAILED` and a model of ours was asked. */
  readonly failure?: ProviderFailure;
  /** Which limit was reached, if `reason` is `BUDGET_EXCEEDED` or `TURN_LIMIT`. */
  readonly limit?: ReachedLimit;
  /** ISO time at which `run` continues it, if nothing else does before: a timer, or a provider's retry-after. */
  readonly wakeAt?: string;
}

/** An evaluation that is watched while it runs. */
export interface EvaluationStream<Output, Slices extends readonly AnySlice[] = readonly AnySlice[]>
  extends AsyncIterable<EvaluationEvent<Slices>> {
  readonly response: Promise<EvaluationResponse<Output>>;
}

/** Options of `run`: those of `evaluate`, without what the log decides. */
export interface RunOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]>
  extends Omit<EvaluateOptions<Slices>, 'session' | 'input' | 'resume' | 'evaluationId' | 'key' | 'continues'> {
  readonly session: AnySession | Session<Slices>;
  /** Ends when this input has its response, and leaves what was sent after it. Another `run` of the session is followed meanwhile. */
  readonly until?: string;
  /** Does only what this agent has to do: its evaluations, and the inputs that name it or no agent. */
  readonly agent?: string;
  /** Resume an evaluation that was cancelled, instead of superseding it when something was sent since. */
  readonly resumeCancelled?: boolean;
  /** Wait while another `run` has the session, at most so many milliseconds (`true`: until `deadline` or `signal`), before `busy`. */
  readonly wait?: boolean | number;
}

/** `params` are required when a prompt's instructions have names, or what makes them superfluous. */
export type NeededParams<Params, Instead = never> =
  Record<never, never> extends Params ? unknown : { readonly params: Params } | Instead;

/** An evaluation that is resumed has its own params. */
interface Resumed {
  readonly resume: true | { readonly evaluationId: string };
}

/** What `run` did, and why it stopped. */
export interface RunResult<Output = undefined> {
  /**
   * `idle`: nothing is left. `suspended`: an evaluation waits, see the last of `responses`. `failed`: an evaluation failed
   * with `error`; `session.abandon` unblocks the queue. `busy`: another `run` has the session, and does what is left. `left`: something
   * is left that this call does not do: what was sent after `until`, or the work of another agent.
   */
  readonly status: 'idle' | 'suspended' | 'failed' | 'busy' | 'left';
  /** Of the evaluations that this call ran, in order. */
  readonly responses: readonly EvaluationResponse<Output>[];
  /** The lease of the process that runs the session, if it is busy. */
  readonly lease?: Lease;
  readonly error?: HoldfastError;
}

/**
 * Runs prompts.
 *
 * Contract: `evaluate` records before it acts, so that a process that dies anywhere is continued by the same call with `resume`.
 * It returns `suspended` for everything that can be resumed later, and throws only when the evaluation failed or could not begin.
 */
export interface ProviderAdapter {
  evaluate<Output, Params extends AnyParams = AnyParams, Slices extends readonly AnySlice[] = readonly AnySlice[]>(
    prompt: Prompt<Output, Params>,
    options?: EvaluateOptions<Slices> & NeededParams<Params, Resumed>,
  ): Promise<EvaluationResponse<Output>>;
  stream<Output, Params extends AnyParams = AnyParams, Slices extends readonly AnySlice[] = readonly AnySlice[]>(
    prompt: Prompt<Output, Params>,
    options?: EvaluateOptions<Slices> & NeededParams<Params, Resumed>,
  ): EvaluationStream<Output, Slices>;
  /**
   * Does what the session has left: its open evaluation, then each input that was sent to it, in order. Another `run` of the
   * same session is `busy`. Nothing that is sent while it runs is missed.
   */
  run<Output, Params extends AnyParams = AnyParams, Slices extends readonly AnySlice[] = readonly AnySlice[]>(
    prompt: Prompt<Output, Params>,
    options: RunOptions<Slices> & NeededParams<Params>,
  ): Promise<RunResult<Output>>;
}
