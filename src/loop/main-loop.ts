import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import { openCalls } from '../core/evaluations.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { AnySlice } from '../core/slices.ts';
import { getLatestEvaluation } from '../core/views.ts';
import type { Store } from '../ports/store.ts';
import { type AnySession, openSession } from '../session/session.ts';
import { memoryStore } from '../stores/memory.ts';
import {
  type CheckpointHandler,
  type CheckpointStrategy,
  checkpointingStore,
  isDue,
  requestName,
} from './checkpoints.ts';
import type { Prompt } from './define-prompt.ts';
import type { EvaluateOptions, EvaluationResponse, ProviderAdapter } from './provider-adapter.ts';

/** What a request becomes: a prompt, its input, and where its conversation is kept. */
export interface PreparedRequest<Output> extends Omit<EvaluateOptions, 'session' | 'resume'> {
  readonly prompt: Prompt<Output>;
  /** The session of this request; by default named after its id, itself if it is a short text, or the hash of what it says. */
  readonly sessionId?: string;
  readonly slices?: readonly AnySlice[];
}

export interface MainLoopOptions<Request, Output> {
  readonly adapter: ProviderAdapter;
  /** Turns a request into a prompt. Called again after a crash: the same request must give the same answer. */
  readonly prepare?: (request: Request) => PreparedRequest<Output> | Promise<PreparedRequest<Output>>;
  /** Called with the answer, at least once: a crash right after it calls it again. */
  readonly finalize?: (
    request: Request,
    response: EvaluationResponse<Output>,
    session: AnySession,
  ) => void | Promise<void>;
  /** Where conversations live. Without one they live in memory, and `checkpoints` make them last. */
  readonly store?: Store;
  readonly checkpoints?: CheckpointHandler<Request>;
  readonly strategy?: CheckpointStrategy;
  /** What to do when a recorded conversation cannot be continued: throw, or begin again. */
  readonly onInvalid?: 'fail' | 'restart';
}

const KNOWN: KnownOptions<MainLoopOptions<never, never>> = {
  adapter: true,
  prepare: true,
  finalize: true,
  store: true,
  checkpoints: true,
  strategy: true,
  onInvalid: true,
};

/** Codes of a recorded conversation that cannot be continued. */
const INVALID = new Set(['PROMPT_MISMATCH', 'SNAPSHOT_INVALID', 'CHECKPOINT_INVALID', 'CONVERSATION_NOT_FOUND']);

/** What went wrong after the loop had acted: beginning again would act twice (I2). */
class WentWrong extends Error {}

/** A recorded answer that the output schema no longer takes. One that failed just now is not this: it would fail again. */
class StaleAnswer extends Error {}

/**
 * Runs requests. `execute` is called in the same way the first time, after a crash and after the end: it begins, continues, or
 * answers from the record. Give `prepare` and `finalize` as options, or override them in a subclass.
 */
export class MainLoop<Request, Output = undefined> {
  readonly #options: MainLoopOptions<Request, Output>;
  readonly #running = new Map<Request, () => Promise<void>>();

  constructor(options: MainLoopOptions<Request, Output>) {
    refuseUnknownOptions('MainLoop', options, KNOWN);
    this.#options = options;
  }

  /** Turns a request into a prompt and its options. */
  async prepare(request: Request): Promise<PreparedRequest<Output>> {
    const { prepare } = this.#options;
    if (!prepare)
      throw new HoldfastError('INVALID_ARGUMENT', 'MainLoop needs prepare: pass it as an option or override it');
    return prepare(request);
  }

  /** Receives the answer. */
  async finalize(request: Request, response: EvaluationResponse<Output>, session: AnySession): Promise<void> {
    await this.#options.finalize?.(request, response, session);
  }

  /** Begins, continues or answers a request. */
  async execute(request: Request): Promise<EvaluationResponse<Output>> {
    const { onInvalid = 'fail', checkpoints } = this.#options;
    const prepared = await this.prepare(request);
    try {
      return await this.#run(request, prepared, 'auto');
    } catch (error) {
      if (error instanceof WentWrong) throw error.cause;
      const stale = error instanceof StaleAnswer;
      const invalid = stale || (isHoldfastError(error) && INVALID.has(error.code));
      if (onInvalid === 'fail' || !invalid) throw stale ? error.cause : error;
      await checkpoints?.clear(request);
      return await this.#again(request, prepared);
    }
  }

  async #again(request: Request, prepared: PreparedRequest<Output>): Promise<EvaluationResponse<Output>> {
    try {
      return await this.#run(request, prepared, false);
    } catch (error) {
      throw error instanceof WentWrong || error instanceof StaleAnswer ? error.cause : error;
    }
  }

  /** Saves a checkpoint of everything that runs now, whatever the strategy. */
  async checkpoint(): Promise<void> {
    await Promise.all([...this.#running.values()].map((save) => save()));
  }

  async #run(
    request: Request,
    prepared: PreparedRequest<Output>,
    resume: 'auto' | false,
  ): Promise<EvaluationResponse<Output>> {
    const { prompt, sessionId = requestName(request), slices = [], ...options } = prepared;
    const { adapter, store, checkpoints } = this.#options;
    const session =
      store || !checkpoints
        ? await openSession({ store: store ?? memoryStore(), id: sessionId, slices })
        : await this.#openCheckpointed(request, checkpoints, sessionId, slices);
    const { seq } = session;
    let answered = false;
    try {
      const response = await adapter.evaluate(prompt, { ...options, session, resume });
      answered = true;
      if (response.status === 'completed') {
        await this.finalize(request, response, session);
        await checkpoints?.clear(request);
      }
      return response;
    } catch (error) {
      const recorded = getLatestEvaluation(session, { ns: prompt.ns, key: prompt.key });
      const stale = isHoldfastError(error, 'OUTPUT_INVALID') && recorded?.status === 'completed';
      if (stale && !answered) throw new StaleAnswer('the recorded answer is stale', { cause: error });
      throw answered || session.seq > seq ? new WentWrong('the loop had acted', { cause: error }) : error;
    } finally {
      this.#running.delete(request);
      await session.close();
    }
  }

  /** A session in memory that begins with the request's checkpoint and saves the next ones. */
  async #openCheckpointed(
    request: Request,
    checkpoints: CheckpointHandler<Request>,
    id: string,
    slices: readonly AnySlice[],
  ): Promise<AnySession> {
    const { strategy = 'on-turn' } = this.#options;
    let armed = false;
    let savedAt = 0;
    let saving: Promise<void> = Promise.resolve();
    // One after the other, each with what is there when its turn comes: an older one never replaces a newer one.
    const save = (): Promise<void> => {
      const next = async (): Promise<void> => {
        await session.refresh();
        await checkpoints.save(request, await session.snapshot({ contents: true }));
        savedAt = session.clock.now();
      };
      saving = saving.then(next, next);
      return saving;
    };
    const store = checkpointingStore(memoryStore(), async (events) => {
      if (!armed) return;
      await session.refresh();
      const evaluation = getLatestEvaluation(session);
      const since = {
        openCalls: evaluation ? openCalls(evaluation).length : 0,
        elapsedMs: session.clock.now() - savedAt,
      };
      if (isDue(strategy, events, since)) await save();
    });
    // Nothing is stored apart: a checkpoint holds the whole conversation.
    const whole = { maxInlineLength: Number.POSITIVE_INFINITY, maxEventLength: Number.POSITIVE_INFINITY };
    const session: AnySession = await openSession({ store, id, slices, ...whole });
    const snapshot = await checkpoints.load(request);
    if (snapshot !== undefined) await session.restore(snapshot);
    savedAt = session.clock.now();
    armed = true;
    this.#running.set(request, save);
    return session;
  }
}
