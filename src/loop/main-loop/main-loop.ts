import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { isOpen, openCalls } from '../../core/fold/evaluations.ts';
import type { AnySlice } from '../../core/fold/slices.ts';
import type { Snapshot } from '../../core/fold/snapshot.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Store } from '../../ports/store.ts';
import { sha256 } from '../../session/read/contents.ts';
import { type AnySession, openSession } from '../../session/session.ts';
import { memoryStore } from '../../stores/memory.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { freeEvaluationId, inputHash, paramsHash } from '../evaluate/evaluation-identity.ts';
import type { EvaluateOptions, EvaluationResponse, ProviderAdapter } from '../evaluate/provider-adapter.ts';
import {
  type CheckpointHandler,
  type CheckpointStrategy,
  checkpointingStore,
  isDue,
  requestName,
} from './checkpoints.ts';
import { type KeptResponse, keepResponse, readKeptResponse, responseFrom } from './kept-response.ts';

/** What a request becomes: a prompt, its input, and where its conversation is kept. */
export interface PreparedRequest<Output> extends Omit<EvaluateOptions, 'session' | 'resume' | 'evaluationId'> {
  readonly prompt: Prompt<Output>;
  /** The session of this request; by default named after its id, itself if it is a short text, or the hash of its JSON. */
  readonly sessionId?: string;
  readonly slices?: readonly AnySlice[];
}

/** Options of `MainLoop`. */
export interface MainLoopOptions<Request, Output> {
  readonly adapter: ProviderAdapter;
  /** Turns a request into a prompt. Called again after a crash: the same request must give the same prompt. */
  readonly prepare?: (request: Request) => PreparedRequest<Output> | Promise<PreparedRequest<Output>>;
  /** Called with the response, at least once: after a crash right behind it, again. */
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
class FailedAfterActing extends Error {}

/** A recorded response that no longer fits the output schema. Not for a response of this run: it would fail again. */
class StaleResponse extends Error {}

/**
 * Runs requests. `execute` is called in the same way the first time, after a crash and after the end: it begins, continues, or
 * returns the recorded response. Inputs that are sent to the session meanwhile are placed or run, too. Give `prepare` and `finalize` as options, or override them in a subclass.
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

  /** Receives the response. */
  async finalize(request: Request, response: EvaluationResponse<Output>, session: AnySession): Promise<void> {
    await this.#options.finalize?.(request, response, session);
  }

  /** Begins or continues a request, or returns its recorded response. */
  async execute(request: Request): Promise<EvaluationResponse<Output>> {
    const prepared = await this.prepare(request);
    const { store, checkpoints } = this.#options;
    if (store || !checkpoints?.lock) return this.#execute(request, prepared); // a store has leases
    const unlock = await checkpoints.lock(request);
    try {
      return await this.#execute(request, prepared);
    } finally {
      await unlock();
    }
  }

  async #execute(request: Request, prepared: PreparedRequest<Output>): Promise<EvaluationResponse<Output>> {
    const { onInvalid = 'fail', checkpoints } = this.#options;
    try {
      return await this.#run(request, prepared, 'auto');
    } catch (error) {
      if (error instanceof FailedAfterActing) throw error.cause;
      const stale = error instanceof StaleResponse;
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
      throw error instanceof FailedAfterActing || error instanceof StaleResponse ? error.cause : error;
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
    let session: AnySession;
    if (store || !checkpoints) session = await openSession({ store: store ?? memoryStore(), id: sessionId, slices });
    else {
      const loaded = await checkpoints.load(request);
      const kept = readKeptResponse(loaded);
      const response = kept && (await this.#responseFrom(kept, prepared));
      if (response) return response;
      const snapshot = kept ? undefined : (loaded as Snapshot | string | undefined);
      session = await this.#openCheckpointed(request, checkpoints, { snapshot, sessionId, slices });
    }
    const { seq } = session;
    const own = derivedEvaluation(session, request, prepared);
    let hasResponse = false;
    try {
      const response = await adapter.evaluate(prompt, {
        ...options,
        session,
        evaluationId: own.id,
        resume: resume === 'auto' && own.isRecorded ? { evaluationId: own.id } : resume,
      });
      hasResponse = true;
      if (response.status === 'completed') {
        await this.#runQueued(session, prepared);
        await this.finalize(request, response, session);
        if (!store && checkpoints?.complete) await checkpoints.complete(request, keepResponse(prepared, response));
        else await checkpoints?.clear(request);
      }
      return response;
    } catch (error) {
      const recorded = session.latestEvaluation({ ns: prompt.ns, key: prompt.key });
      const stale = isHoldfastError(error, 'OUTPUT_INVALID') && recorded?.status === 'completed';
      if (stale && !hasResponse) throw new StaleResponse('the recorded response is stale', { cause: error });
      throw hasResponse || session.seq > seq ? new FailedAfterActing('the loop had acted', { cause: error }) : error;
    } finally {
      this.#running.delete(request);
      await session.close();
    }
  }

  /** Runs what was sent to the session while the request ran: the request has ended, what came of it stays as it is. */
  async #runQueued(session: AnySession, prepared: PreparedRequest<Output>): Promise<void> {
    await session.refresh();
    if (session.queue().length === 0) return;
    const { prompt, sessionId: _, slices: __, input: ___, key: ____, continues: _____, ...options } = prepared;
    await this.#options.adapter.run(prompt, { ...options, session });
  }

  async #responseFrom(
    kept: KeptResponse,
    prepared: PreparedRequest<Output>,
  ): Promise<EvaluationResponse<Output> | undefined> {
    try {
      return await responseFrom(kept, prepared);
    } catch (error) {
      if (!isHoldfastError(error, 'OUTPUT_INVALID')) throw error;
      throw new StaleResponse('the kept response is stale', { cause: error });
    }
  }

  /** A session in memory that begins with the request's checkpoint and saves the next ones. */
  async #openCheckpointed(
    request: Request,
    checkpoints: CheckpointHandler<Request>,
    from: {
      readonly snapshot: Snapshot | string | undefined;
      readonly sessionId: string;
      readonly slices: readonly AnySlice[];
    },
  ): Promise<AnySession> {
    const { strategy = 'on-turn' } = this.#options;
    const { snapshot, sessionId: id, slices } = from;
    let armed = false;
    let savedAt = 0;
    let saving: Promise<void> = Promise.resolve();
    // One after the other, each with the state at its turn: an older checkpoint never replaces a newer one.
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
      const evaluation = session.latestEvaluation();
      const since = {
        openCalls: evaluation ? openCalls(evaluation).length : 0,
        elapsedMs: session.clock.now() - savedAt,
      };
      if (isDue(strategy, events, since)) await save();
    });
    // No external content: a checkpoint holds the whole conversation.
    const whole = { maxInlineLength: Number.POSITIVE_INFINITY, maxEventLength: Number.POSITIVE_INFINITY };
    const session: AnySession = await openSession({ store, id, slices, ...whole });
    if (snapshot !== undefined) await session.restore(snapshot);
    savedAt = session.clock.now();
    armed = true;
    this.#running.set(request, save);
    return session;
  }
}

/**
 * The evaluation of a request: its id is derived from what is asked, so that a request that runs again from its start, because
 * its checkpoint was cleared or not saved yet, has the idempotency keys of the first run. One that is recorded is resumed by its
 * id, also when the session has newer ones.
 */
function derivedEvaluation<Output>(
  session: AnySession,
  request: unknown,
  prepared: PreparedRequest<Output>,
): { readonly id: string; readonly isRecorded: boolean } {
  const { ns, key, hash } = prepared.prompt;
  const asked = [requestName(request), ns, key, hash, inputHash(prepared), paramsHash(prepared)];
  const id = `ev_${sha256(canonicalJson(asked)).slice(0, 24)}`;
  const { newest } = freeEvaluationId(session, id);
  const recorded = newest === undefined ? undefined : session.state.record.evaluations.get(newest);
  const isRecorded = recorded !== undefined && (isOpen(recorded) || recorded.status === 'completed');
  return { id: isRecorded ? recorded.id : id, isRecorded };
}
