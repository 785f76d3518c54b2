import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { CallState } from '../../core/fold/evaluations.ts';
import type { NewEvent, ReachedLimit, SuspendReason } from '../../core/log/events.ts';
import { type CallRef, callKey } from '../../core/log/messages.ts';
import type { ProgressReport } from '../../core/log/progress.ts';
import { untilAborted } from '../../models/until-aborted.ts';
import type { StagedSession } from '../../session/append/staged-session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import type { ToolContext } from '../define/define-tool.ts';
import { inputHash } from '../evaluate/evaluation-identity.ts';
import type { ChildOptions, EvaluationResponse, SuspendedResponse } from '../evaluate/provider-adapter.ts';
import { currentEvaluation, type Run } from '../evaluate/run.ts';
import { remainingBudget, rootOf } from '../request/spending.ts';
import { childrenUnder, matchChild } from './child-index.ts';

/** Thrown out of `ctx.evaluate` when the child waits: the call waits with it. */
export class ChildSuspended extends Error {
  readonly reason: SuspendReason;
  readonly pending: readonly CallRef[];
  /** ISO time at which the child continues by itself (D78). */
  readonly until: string | undefined;
  readonly limit: ReachedLimit | undefined;

  constructor(response: SuspendedResponse) {
    super(response.message);
    this.reason = response.reason;
    this.pending = response.pending;
    this.until = response.wakeAt;
    this.limit = response.limit;
  }
}

/** Thrown into a handler that took too long. */
export class TimedOut extends Error {}

/** Which run of a call this is (D19), of which of its tool's functions, and how long it may take. */
export interface HowRun {
  readonly attempt: number;
  readonly isResume: boolean;
  readonly timeoutMs?: number | undefined;
  /** The handler by default. Children of the other functions are named after them: they are not the handler's. */
  readonly step?: 'reconcile' | 'compensate';
}

/** One run of a handler: its transaction, its signal and the children it asked for. All of it ends when the run does. */
export class CallScope {
  /** What the handler is given (D19). */
  readonly context: ToolContext;
  readonly #run: Run;
  readonly #call: CallState;
  readonly #step: HowRun['step'];
  readonly #attempt: number;
  readonly #staged: StagedSession;
  readonly #children = new Map<string, { readonly inputHash: string; readonly response: Promise<unknown> }>();
  /** Ends what the handler waits for, and its children. Most handlers need neither. */
  #ending: { readonly controller: AbortController; readonly signal: AbortSignal } | undefined;
  #cancelTimeout: () => void = () => {};
  /** Most handlers report nothing. */
  #report: ((report: string | ProgressReport) => void) | undefined;
  #count = 0;
  #ended = false;

  constructor(run: Run, call: CallState, how: HowRun) {
    const { attempt, isResume, timeoutMs, step } = how;
    this.#run = run;
    this.#call = call;
    this.#step = step;
    this.#attempt = attempt;
    this.#staged = run.session.stage();
    if (timeoutMs !== undefined) {
      const { controller } = this.#mayEnd();
      const late = (): void => controller.abort(new TimedOut(`"${call.name}" did not return within ${timeoutMs} ms`));
      this.#cancelTimeout = run.session.clock.after(timeoutMs, late);
    }
    const { deadline } = rootOf(run).options;
    this.context = {
      ...(deadline !== undefined && { deadline: new Date(deadline) }),
      get budget() {
        return remainingBudget(run);
      },
      attempt,
      isResume,
      callId: call.callId,
      turn: call.turn,
      evaluationId: call.evaluationId,
      conversationId: currentEvaluation(run).conversationId,
      sessionId: run.session.id,
      idempotencyKey: `${run.session.id}/${callKey(call)}`,
      signal: this.#signal,
      session: this.#staged,
      progress: (report) => this.#progress(report),
      evaluate: <Output>(prompt: Prompt<Output>, options: ChildOptions = {}) => {
        const child = this.#evaluate(prompt as Prompt<unknown>, options);
        child.catch(() => {}); // a handler that does not wait for it must not bring the process down
        return child as Promise<EvaluationResponse<Output>>;
      },
    };
  }

  /** Runs a handler. One that ignores its signal is left behind: its transaction is closed, its result unread. */
  run<T>(handler: (context: ToolContext) => T | Promise<T>): T | Promise<T> {
    const returned = handler(this.context);
    if (!isPromiseLike(returned)) return returned;
    const waited = untilAborted(returned, this.#run.aborter.signal);
    // Not under the joint signal: one that is listened to lives as long as what it is joined from.
    return this.#ending ? untilAborted(waited, this.#ending.controller.signal) : waited;
  }

  /** What the handler dispatched; from now on it can dispatch nothing more. */
  close(): readonly NewEvent[] {
    return this.#staged.close();
  }

  /**
   * Ends the run. Children that the handler did not wait for are stopped; but if it ended because one of them waits for a person,
   * the others run to their end first (D18).
   */
  end({ waits }: { readonly waits: boolean }): Promise<unknown> | undefined {
    this.#ended = true;
    this.#cancelTimeout();
    this.#staged.close();
    if (this.#children.size === 0) return undefined;
    if (!waits) this.#ending?.controller.abort(callEnded());
    return Promise.allSettled([...this.#children.values()].map(({ response }) => response));
  }

  #progress(report: string | ProgressReport): void {
    if (this.#ended) return;
    this.#report ??= this.#run.callDrafts.begin({
      ...this.#call,
      conversationId: currentEvaluation(this.#run).conversationId,
      attempt: this.#attempt,
      continues: this.#step !== undefined,
    });
    this.#report(report);
  }

  get #signal(): AbortSignal {
    return this.#ending?.signal ?? this.#run.aborter.signal;
  }

  #mayEnd(): { readonly controller: AbortController; readonly signal: AbortSignal } {
    if (this.#ending) return this.#ending;
    const controller = new AbortController();
    this.#ending = { controller, signal: AbortSignal.any([this.#run.aborter.signal, controller.signal]) };
    return this.#ending;
  }

  async #evaluate(prompt: Prompt<unknown>, options: ChildOptions): Promise<EvaluationResponse<unknown>> {
    if (this.#ended) throw callEnded();
    this.#checkEffect();
    try {
      const { name, ...conversation } = this.#conversationOf(prompt, options);
      const { signal } = this.#mayEnd();
      const child = this.#run.child(this.#run, this.#call, prompt, options, { ...conversation, signal });
      this.#children.set(name, { inputHash: inputHash(options), response: child });
      const response = await child;
      if (response.status === 'suspended') throw new ChildSuspended(response);
      return response;
    } catch (error) {
      // A prompt or an input that changed since is for its author to repair. After a failed result the model would delegate again
      // what the child has already done (D4).
      const changed = isHoldfastError(error, 'PROMPT_MISMATCH') || isHoldfastError(error, 'KEY_REUSED');
      if (changed) this.#run.aborter.abort(error);
      throw error;
    }
  }

  /**
   * Children are found again by a handler that runs again, which a `once` handler does not (D60). `reconcile` and `compensate`
   * run again whatever the effect.
   */
  #checkEffect(): void {
    if (this.#step) return;
    const { name } = this.#call;
    const tool = this.#run.prompt.tools.find((candidate) => candidate.name === name);
    if (!tool?.effectUndeclared || tool.effect !== 'once') return;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `tool "${name}" runs a child conversation and declares no effect: declare effect: 'idempotent' (after a crash its handler runs again, and finished children return their recorded response), or use defineSubagent`,
    );
  }

  /** Where a child's conversation is: the recorded one that is asked for again, or a new one. */
  #conversationOf(
    prompt: Prompt<unknown>,
    options: ChildOptions,
  ): { readonly name: string; readonly conversationId: string; readonly evaluationId?: string } {
    const { key } = options;
    const ordinal = ++this.#count;
    const prefix = `${[callKey(this.#call), ...(this.#step ? [this.#step] : [])].join('/')}/`;
    const recorded = childrenUnder(prefix, this.#run.children.of(this.#call));
    if (key !== undefined) {
      const known = recorded.find(({ name }) => name === key)?.evaluation;
      const asked = this.#children.get(key);
      const first = asked?.inputHash ?? (known?.key === key ? known.inputHash : undefined);
      if (first !== undefined && first !== '' && first !== inputHash(options)) {
        throw new HoldfastError(
          'KEY_REUSED',
          `"${key}" names a child conversation of this call that had other input; give each input a key of its own`,
        );
      }
      if (asked || (known && known.key !== key)) {
        throw new HoldfastError(
          'INVALID_ARGUMENT',
          `this call has a child conversation "${key}" already; give each a key of its own`,
        );
      }
      return { name: key, conversationId: prefix + key, ...(known && { evaluationId: known.id }) };
    }
    const unused = recorded.filter(({ name }) => !this.#children.has(name));
    const match = matchChild(unused, { prompt, options, ordinal: String(ordinal) });
    const taken = (name: string): boolean => this.#children.has(name) || recorded.some((one) => one.name === name);
    let free = ordinal;
    while (!match && taken(String(free))) free++;
    const name = match?.name ?? String(free);
    return { name, conversationId: prefix + name, ...(match && { evaluationId: match.evaluation.id }) };
  }
}

function callEnded(): HoldfastError {
  return new HoldfastError(
    'SESSION_CLOSED',
    'the call that asked for this conversation has ended; await ctx.evaluate before the tool returns',
  );
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
