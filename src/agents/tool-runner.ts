import { messageOf } from '../core/errors.ts';
import type { ToolEffect } from '../core/log/events.ts';
import { callKey } from '../core/log/messages.ts';
import { PlanChanged } from '../loop/calls/call-guards.ts';
import { prepareRecorded } from '../loop/calls/prepare-call.ts';
import { runCall } from '../loop/calls/run-call.ts';
import { pendingRef, unreconciledCall } from '../loop/calls/run-calls.ts';
import { failure, type ToolOutcome } from '../loop/define/tool-result.ts';
import { confirmLease, isRefusedEvent, type Run } from '../loop/evaluate/run.ts';
import { Suspension } from '../loop/evaluate/suspension.ts';
import type { ConversationRecorder } from './conversation-recorder.ts';

/** Why a run was stopped from here: to be planned again, or with an error. */
export type Stop = { readonly plan: true } | { readonly error: unknown };

/** The agent whose tools are run. */
export interface RunningAgent {
  /** Called after a tool's result is recorded. */
  readonly used: () => Promise<void>;
  /** Its conversations: its own and its subagents'. */
  readonly conversations: () => readonly ConversationRecorder[];
  /** Whether a tool of that name starts a subagent. */
  readonly isSubagentCall: (name: string) => boolean;
}

/** A promise that never settles: the agent waits for it until its process is ended. */
const NEVER = new Promise<never>(() => {});

/**
 * Runs our tools for an agent that calls them itself, with the same policy, transaction, idempotency key and record as in our own
 * loop. What stops the run resolves `stopped`; the model never sees it.
 */
export class ToolRunner {
  readonly stopped: Promise<Stop>;
  readonly #run: Run;
  readonly #agent: RunningAgent;
  readonly #stopping = Promise.withResolvers<Stop>();
  /** No call starts any more: it would be cut off. */
  #isStopping = false;
  readonly #calls = new Map<string, Promise<ToolOutcome>>();
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(run: Run, agent: RunningAgent) {
    this.#run = run;
    this.#agent = agent;
    this.stopped = this.#stopping.promise;
  }

  /** Stops the run. The agent, which waits for a result, gets none. */
  stop(stop: Stop): Promise<never> {
    this.#isStopping = true;
    this.#stopping.resolve(stop);
    return NEVER;
  }

  /**
   * Awaits the agent's work until it ends, a tool stops the run or the evaluation is aborted. Returns true when the work has ended, false
   * when the loop must plan again; throws the error that stopped the run.
   */
  async untilStopped(work: Promise<void>): Promise<boolean> {
    const { signal } = this.#run.aborter;
    const abort = (): void => void this.stop({ error: signal.reason });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    try {
      const stop = await Promise.race([work.then(() => undefined), this.stopped]);
      if (stop && 'error' in stop) throw stop.error;
      return stop === undefined;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Call it before one of our tools runs: stops the run if a person must approve the call, and records its start. */
  async before(conversation: ConversationRecorder, callId: string): Promise<void> {
    const call = conversation.call(callId);
    const prepared = call && (await prepareRecorded(this.#run, call));
    if (!call || !prepared?.ok) return; // running it will report the problem
    if (call.approval !== 'approved' && (await prepared.needsApproval())) {
      await this.#quiet(); // calls that run beside it would be cut off, and their results lost
      return this.stop({ plan: true });
    }
    if (this.#isStopping) return NEVER;
    const { effect } = prepared.tool;
    await this.#start(conversation, callId, effect);
    if (effect !== 'read') this.#run.startedHere.set(callKey(call), prepared);
  }

  /** Call it before a tool of the agent's own runs: records its start and confirms the lease. */
  async beforeBuiltIn(conversation: ConversationRecorder, callId: string, effect: ToolEffect): Promise<void> {
    if (this.#isStopping) return NEVER;
    await this.#start(conversation, callId, effect);
    await confirmLease(conversation.run);
  }

  /** Records a start. When a person has decided about the call, the run is planned again and the agent gets no result. */
  async #start(conversation: ConversationRecorder, callId: string, effect: ToolEffect): Promise<void> {
    try {
      await conversation.recordStart(callId, effect);
    } catch (error) {
      if (!(error instanceof PlanChanged)) throw error;
      await this.#quiet();
      return this.stop({ plan: true });
    }
  }

  /** Runs a call and resolves with its recorded outcome. A call that was requested twice runs once. */
  call(conversation: ConversationRecorder | undefined, callId: string): Promise<ToolOutcome> {
    const key = `${conversation?.run.evaluationId}/${callId}`;
    const known = this.#calls.get(key);
    if (known) return known;
    if (this.#isStopping) return NEVER;
    const work = this.#runCall(conversation, callId);
    this.#inFlight.add(work);
    const outcome = work.catch((error: unknown) =>
      this.stop(error instanceof PlanChanged ? { plan: true } : { error }),
    );
    this.#calls.set(key, outcome);
    return outcome;
  }

  /** Resolves when no tool of ours runs any more. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
  }

  /** Resolves when nothing runs in any of the agent's conversations. A subagent runs as long as its calls do. */
  async #quiet(): Promise<void> {
    const { conversations, isSubagentCall } = this.#agent;
    for (;;) {
      const busy = conversations().find((conversation) => conversation.isBusy(isSubagentCall));
      if (!busy) return;
      await busy.nextEnd();
    }
  }

  async #runCall(conversation: ConversationRecorder | undefined, callId: string): Promise<ToolOutcome> {
    const call = conversation?.call(callId);
    if (!conversation || !call) return failure(`call ${callId} is not known; make it again`);
    const result = await runCall(conversation.run, { action: 'run', call });
    if (result.type === 'waits') {
      const isTimer = result.reason === 'TIMER_PENDING';
      const pending = result.pending ?? (isTimer ? [] : [pendingRef(conversation.run, call)]);
      const { reason, message, until, limit } = result;
      const unreconciled = unreconciledCall(conversation.run, call, result);
      throw new Suspension(reason, message, { pending, until, limit, unreconciled });
    }
    let { outcome } = result;
    try {
      await conversation.recordResult(callId, outcome, { staged: result.staged });
    } catch (error) {
      if (!isRefusedEvent(error)) throw error;
      outcome = failure(`"${call.name}" ran, but its result was refused: ${messageOf(error)}`);
      await conversation.recordResult(callId, outcome);
    }
    await this.#agent.used();
    return outcome;
  }
}
