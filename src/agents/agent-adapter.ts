import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import { continuedEvaluations } from '../core/fold/evaluation-messages.ts';
import { isOpen } from '../core/fold/evaluations.ts';
import type { AdapterStateSnapshot, AdapterStateType } from '../core/log/adapter-state.ts';
import { adapterStateFor } from '../core/log/composite-adapter-state.ts';
import type { Prompt } from '../loop/define/define-prompt.ts';
import { slicesOf } from '../loop/define/tool-slices.ts';
import { streamEvents } from '../loop/evaluate/create-adapter.ts';
import { evaluateInSession } from '../loop/evaluate/evaluate-in-session.ts';
import type {
  EvaluateOptions,
  EvaluationResponse,
  ResumeOption,
  RunOptions,
  RunResult,
} from '../loop/evaluate/provider-adapter.ts';
import { type Agent, currentEvaluation, type LoopSettings, nowOf, type Run } from '../loop/evaluate/run.ts';
import { runSession } from '../loop/evaluate/run-session.ts';
import type { Model } from '../ports/model.ts';
import { type AnySession, openSession } from '../session/session.ts';
import { memoryStore } from '../stores/memory.ts';
import { latestSnapshot } from './adapter-states.ts';
import { endOrphans } from './agent-process.ts';
import { type AgentState, DEFAULT_MAX_AGE, type ResumeSurroundings, validateState } from './agent-state.ts';
import { type AgentProgress, CaptureSchedule, captureState } from './capture-state.ts';
import { type BuiltInTools, runOpenCalls } from './run-open-calls.ts';
import type { StatefulAdapter, StatefulOptions } from './stateful-adapter.ts';
import { interruptLeftSubagents } from './subagent-run.ts';

/**
 * What differs from agent to agent; `createAgentAdapter` does the rest.
 *
 * Contract: every method runs under the session's lease, except `exists`. The adapter calls `cleanUp`, then `catchUp`, then
 * `ask`, possibly several times in one evaluation: after each `ask` it plans by the log.
 */
export interface AgentKind<T extends AgentState> {
  /** What people call the agent, for messages of errors. */
  readonly name: string;
  readonly stateType: AdapterStateType<T>;
  readonly options: StatefulOptions;
  readonly workspacePath: string;
  /** Whether the agent's own record of a session is still there; absent: only a run of the agent finds out. */
  exists?(session: AnySession, state: T): Promise<boolean>;
  /** Removes what runs that died have left on this host, other than processes: those have ended. */
  cleanUp?(session: AnySession): void;
  /** Records what the agent's own record has and the log lacks. Leftover processes have ended, the state is valid. */
  catchUp?(run: Run, state: T | undefined): Promise<void>;
  /** Runs the agent until it has nothing more to do, recording as it works. `from` is its last state, of this evaluation or of the one before. */
  ask(run: Run, context: AskContext<T>): Promise<void>;
  /** The tools that the agent brings itself. */
  readonly builtIn: BuiltInTools;
}

/** What `ask` gets beside the run. */
export interface AskContext<T> {
  readonly turn: number;
  readonly from: T | undefined;
  /** Whether `from` is a state of this evaluation. */
  readonly isOwn: boolean;
  /** The options of the adapter that concern a run, with their defaults. */
  readonly fork: boolean;
  readonly continuation: string;
  /**
   * Captures the agent's state from now on: as the options say, and when `adapter.capture` is called. `progress` returns the current
   * state, `undefined` while the agent has no session.
   */
  captures(progress: () => AgentProgress | undefined): CaptureSchedule;
}

const CONTINUATION = 'Continue where you left off.';

/**
 * Creates a stateful adapter for an agent with a loop of its own: the same evaluations, budgets, resumes, suspensions and responses as
 * in our own loop. `docs/agents.md` has an example.
 */
export function createAgentAdapter<T extends AgentState>(kind: AgentKind<T>): StatefulAdapter {
  const { stateType, options } = kind;
  const { adapterType } = stateType;
  const captures = new Map<string, () => Promise<AdapterStateSnapshot | undefined>>();

  function checkRequest(prompt: Prompt<unknown>, given: Pick<EvaluateOptions, 'history' | 'limits'>): void {
    const name = (['history', 'limits'] as const).find((one) => given[one] !== undefined);
    if (name !== undefined) {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `this agent makes its own requests, so \`${name}\` has no effect on them; leave it out, or use createAdapter with a model`,
      );
    }
    const taken = prompt.tools.find((tool) => kind.builtIn.has(tool.name)); // the log could not distinguish them
    if (!taken) return;
    throw new HoldfastError('INVALID_ARGUMENT', `${kind.name} has a tool "${taken.name}" of its own; rename yours`);
  }

  async function evaluate<Output>(
    prompt: Prompt<Output>,
    given: EvaluateOptions = {},
  ): Promise<EvaluationResponse<Output>> {
    checkRequest(prompt as Prompt<unknown>, given);
    const session =
      given.session ?? (await openSession({ store: memoryStore(), id: randomUUID(), slices: slicesOf(prompt) }));
    await session.refresh();
    const begin = await chooseStart(session, prompt as Prompt<unknown>, given);
    let response: EvaluationResponse<unknown>;
    try {
      response = await start(session, prompt as Prompt<unknown>, begin);
    } catch (error) {
      if (!(error instanceof StateRefused)) throw error;
      if (options.onInvalid !== 'restart') throw error.cause;
      response = await start(session, prompt as Prompt<unknown>, {
        options: { ...given, resume: false },
        from: undefined,
      });
    }
    return withState<Output>(session, response);
  }

  async function run<Output>(prompt: Prompt<Output>, given: RunOptions): Promise<RunResult<Output>> {
    checkRequest(prompt as Prompt<unknown>, given);
    const { session } = given;
    const settings = settingsFor(session, prompt as Prompt<unknown>, { isRun: true });
    try {
      const result = await runSession(settings, prompt, { ...relaxation(), ...given });
      return { ...result, responses: result.responses.map((response) => withState<Output>(session, response)) };
    } catch (error) {
      throw error instanceof StateRefused ? error.cause : error;
    }
  }

  /** A response with the agent's last state. */
  function withState<Output>(session: AnySession, response: EvaluationResponse<unknown>): EvaluationResponse<Output> {
    const state = latestSnapshot(session, response.evaluationId, adapterType)?.state;
    return { ...response, ...(state && { adapterState: state }) } as EvaluationResponse<Output>;
  }

  function relaxation(): Pick<EvaluateOptions, 'promptValidation'> {
    const { resumeValidation } = options;
    return resumeValidation === 'relaxed' || resumeValidation === 'none' ? { promptValidation: 'relaxed' } : {};
  }

  /** Where to begin: an evaluation of this session, or a state that was captured elsewhere. */
  async function chooseStart(session: AnySession, prompt: Prompt<unknown>, given: EvaluateOptions): Promise<Start<T>> {
    const { resume = autoResume(session, prompt) } = given;
    const base: EvaluateOptions = { ...relaxation(), ...given };
    if (typeof resume !== 'object' || !('adapterState' in resume))
      return { options: { ...base, resume }, from: undefined };
    const state = stateType.parse(adapterStateFor(resume.adapterState, adapterType) ?? resume.adapterState);
    const known = session.state.record.adapterStates
      .toArray()
      .findLast((one) => one.state.adapterType === adapterType && one.state.sessionId === state.sessionId);
    const newest = known && latestSnapshot(session, known.evaluationId, adapterType);
    const judged = (newest?.state as T | undefined) ?? state;
    try {
      validateState(judged, surroundings(session, prompt));
    } catch (error) {
      if (options.onInvalid !== 'restart') throw error;
      return { options: { ...base, resume: false }, from: undefined };
    }
    const evaluation = known && session.state.record.evaluations.get(known.evaluationId);
    if (evaluation && isOpen(evaluation)) {
      return { options: { ...base, resume: { evaluationId: evaluation.id } }, from: undefined };
    }
    if (kind.exists && !(await kind.exists(session, judged))) {
      if (options.onInvalid === 'restart') return { options: { ...base, resume: false }, from: undefined };
      throw new HoldfastError(
        'SESSION_NOT_FOUND',
        `there is no agent session ${judged.sessionId} in this store; resume it from the store that it was recorded in, or create the adapter with onInvalid: 'restart'`,
      );
    }
    return { options: { ...base, resume: false }, from: judged };
  }

  function autoResume(session: AnySession, prompt: Prompt<unknown>): ResumeOption {
    if (!options.autoResume) return false;
    const newest = session.latestEvaluation({ ns: prompt.ns, key: prompt.key });
    const isLeft = newest && isOpen(newest) && !newest.cancelRequest; // a cancelled one is resumed explicitly (D73)
    const snapshot = isLeft ? latestSnapshot(session, newest.id, adapterType) : undefined;
    return newest && snapshot?.resumable ? { evaluationId: newest.id } : false;
  }

  function surroundings(session: AnySession, prompt: Prompt<unknown>): ResumeSurroundings {
    const { maxAge = DEFAULT_MAX_AGE, resumeValidation: validation = 'strict' } = options;
    return { workspacePath: kind.workspacePath, prompt, clock: session.clock, maxAge, validation };
  }

  function start(session: AnySession, prompt: Prompt<unknown>, how: Start<T>): Promise<EvaluationResponse<unknown>> {
    return evaluateInSession(settingsFor(session, prompt, { origin: how.from }), session, prompt, how.options);
  }

  /** Settings whose agent the loop asks instead of a model. `origin` is a state that was captured elsewhere. */
  function settingsFor(
    session: AnySession,
    prompt: Prompt<unknown>,
    { origin, isRun = false }: { readonly origin?: T | undefined; readonly isRun?: boolean },
  ): LoopSettings {
    const newestOf = (evaluationId: string): T | undefined =>
      latestSnapshot(session, evaluationId, adapterType)?.state as T | undefined;
    /** Where the agent left off before the evaluation. One that was cancelled before the agent began has no state. */
    const earlierState = (running: Run): T | undefined => {
      for (const { id } of continuedEvaluations(session.state.record.evaluations, currentEvaluation(running)).slice(
        1,
      )) {
        const state = newestOf(id);
        if (state) return state;
      }
      return undefined;
    };
    /** Ids of agent sessions that validation refused: the adapter starts a new agent session with the messages of the log. */
    const refused = new Set<string>();
    const agent: Agent = {
      adapterType,
      async prepare(running) {
        const state = newestOf(running.evaluationId);
        if (state && !state.complete) {
          try {
            validateState(state, surroundings(session, prompt));
          } catch (cause) {
            // An input is placed once, so `run` keeps its evaluation and restarts only the agent (D29, D61).
            if (!isRun || options.onInvalid !== 'restart') throw new StateRefused(cause);
            refused.add(state.sessionId);
          }
        }
        await endOrphans(session);
        kind.cleanUp?.(session);
        await interruptLeftSubagents(running);
        await kind.catchUp?.(running, state);
      },
      async ask(running, turn) {
        const own = newestOf(running.evaluationId);
        const isRefused = own !== undefined && refused.has(own.sessionId);
        const from = isRefused ? undefined : (own ?? earlierState(running) ?? origin);
        const isOwn = own !== undefined && !isRefused;
        const { fork = true, continuation = CONTINUATION } = options;
        const createdAt = from?.createdAt ?? nowOf(running);
        const schedule: AskContext<T>['captures'] = (progress) => {
          const capture = async (): Promise<AdapterStateSnapshot | undefined> => {
            const now = options.captureState === false ? undefined : progress();
            return now && captureState(running, stateType, { ...now, workspacePath: kind.workspacePath, createdAt });
          };
          captures.set(session.id, capture);
          return new CaptureSchedule(running, options.checkpoint ?? 'on-tool-use', capture);
        };
        try {
          await kind.ask(running, { turn, from, isOwn, fork, continuation, captures: schedule });
        } finally {
          captures.delete(session.id);
        }
      },
      runCalls: (running, calls) => runOpenCalls(running, calls, kind.builtIn),
    };
    return {
      model: ITS_OWN_MODEL,
      summaryModel: ITS_OWN_MODEL,
      agent,
      maxModelRetries: 0,
      maxProviderWaitMs: Number.POSITIVE_INFINITY,
      prices: {},
      leaseTtlMs: options.leaseTtlMs,
      maxBlockedMs: options.maxBlockedMs,
      random: Math.random,
    };
  }

  return {
    adapterType,
    evaluate,
    run,
    stream: (prompt, given) =>
      streamEvents((onEvent) => evaluate(prompt, { ...given, onEvent } as EvaluateOptions), given?.onEvent),
    capture: async (session) => captures.get(session.id)?.(),
  };
}

interface Start<T> {
  readonly options: EvaluateOptions;
  readonly from: T | undefined;
}

/** The state of the evaluation that was to be resumed is not valid here (D29). Never leaves the adapter. */
class StateRefused extends Error {
  constructor(cause: unknown) {
    super('the state was refused', { cause });
  }
}

/** The agent asks its model itself: the loop never does. */
const ITS_OWN_MODEL: Model = {
  provider: 'agent',
  modelId: 'agent',
  stream: () => {
    throw new HoldfastError('INVALID_ARGUMENT', 'an agent asks its model itself');
  },
};
