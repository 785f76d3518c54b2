import type { HoldfastError } from '../../core/errors.ts';
import type { AnySlice } from '../../core/fold/slices.ts';
import type { InputContent, ProviderFailure, ReachedLimit, SuspendReason } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import type { Usage } from '../../core/log/usage.ts';
import type { AnySession, Session } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import type { EvaluationEvent, ProviderAdapter, RunOptions } from '../evaluate/provider-adapter.ts';

/**
 * A model or an agent with its own loop, bound to a prompt and to defaults.
 *
 * Contract: after a crash anywhere, the same call with the same `id` continues: what was recorded is neither sent, requested nor run
 * again. An evaluation that failed is returned, not thrown.
 */
export interface Agent<Output = undefined> {
  /** Names the agent in inputs, servers and workers. */
  readonly name: string;
  readonly prompt: Prompt<Output>;
  readonly adapter: ProviderAdapter;
  /** The options that every run gets unless the caller gives others. */
  readonly defaults: AgentDefaults;
  /** Called with every event of every session that this agent runs, as it happens. */
  readonly onEvent?: AgentListener;
  /**
   * Sends the input, does what is ahead of it and the input, and returns the response to it; the same `id` is sent once. Without an
   * input: does what the session has left, and returns the newest response. While another process runs the session it follows the log,
   * and takes over when that process dies.
   */
  run<Slices extends readonly AnySlice[]>(
    session: AnySession | Session<Slices>,
    input?: string | InputContent,
    options?: AgentRunOptions<Slices>,
  ): Promise<AgentResponse<Output>>;
  /** `run`, watched. */
  stream<Slices extends readonly AnySlice[]>(
    session: AnySession | Session<Slices>,
    input?: string | InputContent,
    options?: AgentRunOptions<Slices>,
  ): AgentStream<Output, Slices>;
}

/** Called with the events of all sessions of an agent, a worker or a server. */
export type AgentListener = (event: EvaluationEvent, context: { readonly sessionId: string }) => unknown;

/** What an agent binds for all of its runs. */
export type AgentDefaults = Omit<
  RunOptions,
  'session' | 'signal' | 'deadline' | 'wait' | 'until' | 'agent' | 'onEvent' | 'resumeCancelled'
>;

/** Options of `agent.run` and `agent.stream`. */
export interface AgentRunOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]>
  extends Omit<RunOptions<Slices>, 'session' | 'until' | 'agent'> {
  /** Names the input, so that sending it again sends it once: the message's own id, or the request's. A random one unless given. */
  readonly id?: string;
  /** `next`, or `steer`: joins the evaluation that runs. `next` unless given. */
  readonly mode?: 'next' | 'steer';
  /** The sender. */
  readonly by?: string;
  /** How long to wait while another process runs the session: `true`, the default, until it has a response or dies; `false`: `busy`. */
  readonly wait?: boolean | number;
}

interface ResponseBase {
  /** The id of the input; absent when the run had none. */
  readonly inputId?: string;
  /** Work remains: what was sent after the input. `agent.run(session)`, a worker or a server does it. */
  readonly left?: true;
}

/** What came of an evaluation. */
interface EvaluationBase extends ResponseBase {
  readonly evaluationId: string;
  /** The newest recorded response. */
  readonly text: string;
  readonly usage: Usage;
  readonly turns: number;
}

/** The response to an input: see `status`. */
export type AgentResponse<Output = undefined> = CompletedRun<Output> | UnfinishedRun;

/** The evaluation came to its end. */
export interface CompletedRun<Output = undefined> extends EvaluationBase {
  readonly status: 'completed';
  /** The response as the output schema reads it; undefined for an agent without one. */
  readonly output: Output;
  readonly reason?: undefined;
  readonly message?: undefined;
  readonly pending?: undefined;
}

/**
 * There is no final response.
 *
 * - `suspended`: the evaluation waits, for a person or a time: `reason`, `pending`, `wakeAt`
 * - `failed`: it failed with `error`; `session.abandon` unblocks the queue. Also a recorded response that does not fit the output schema
 * - `superseded`: another evaluation replaced it
 * - `withdrawn`: the input was taken back
 * - `queued`: `blockedBy` is ahead of the input, or its own evaluation was not continued: `signal` or `deadline` ended the run before
 * - `busy`: another process runs the session, and `wait` is over
 * - `idle`: there was no input, and nothing was left to do for this agent; `blockedBy` is what another agent has to do
 */
export interface UnfinishedRun extends ResponseBase, Partial<Omit<EvaluationBase, keyof ResponseBase>> {
  readonly status: 'suspended' | 'failed' | 'superseded' | 'withdrawn' | 'queued' | 'busy' | 'idle';
  readonly output?: undefined;
  readonly reason?: SuspendReason;
  /** Why, and what to do next. */
  readonly message: string;
  /** Calls that wait for a person. */
  readonly pending?: readonly CallRef[];
  /** ISO time at which a run continues it. */
  readonly wakeAt?: string;
  readonly failure?: ProviderFailure;
  readonly limit?: ReachedLimit;
  readonly error?: HoldfastError;
  readonly blockedBy?: RunObstacle;
}

/** What is ahead of a queued input. */
export interface RunObstacle {
  /** The evaluation that waits, failed, or belongs to another agent. */
  readonly evaluationId?: string;
  readonly status?: 'suspended' | 'failed' | 'running';
  readonly reason?: SuspendReason;
  readonly pending?: readonly CallRef[];
  readonly wakeAt?: string;
  /** The agent that has to run first, if it is another one. */
  readonly agent?: string;
}

/** A run that is watched: its events in order, and the response. */
export interface AgentStream<Output, Slices extends readonly AnySlice[] = readonly AnySlice[]>
  extends AsyncIterable<EvaluationEvent<Slices>> {
  readonly response: Promise<AgentResponse<Output>>;
}
