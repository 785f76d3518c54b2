import type { AdapterState, AdapterStateSnapshot, AdapterStateType } from '../core/log/adapter-state.ts';
import { currentEvaluation, nowOf, type Run, record } from '../loop/evaluate/run.ts';
import { Suspension } from '../loop/evaluate/suspension.ts';
import { uniqueId } from '../session/append/unique-id.ts';
import { latestSnapshot } from './adapter-states.ts';
import type { AgentState } from './agent-state.ts';
import type { CaptureStrategy } from './stateful-adapter.ts';

/** Records a state in the log, as the successor of the evaluation's newest of its kind. */
export async function recordState<T extends AdapterState>(
  run: Run,
  type: AdapterStateType<T>,
  state: AdapterState,
): Promise<AdapterStateSnapshot> {
  const parsed = type.parse(state);
  const supersedes = latestSnapshot(run.session, run.evaluationId, type.adapterType)?.id;
  const snapshot: AdapterStateSnapshot = {
    id: uniqueId('as_'),
    evaluationId: run.evaluationId,
    state: parsed,
    resumable: type.resumable(parsed),
    capturedAt: nowOf(run),
    ...(supersedes !== undefined && { supersedes }),
  };
  await record(run, [{ type: 'adapter/captured', snapshot }]);
  return snapshot;
}

/** What an agent reports of its session; its own kind of state may have more fields. */
export interface AgentProgress {
  readonly sessionId: string;
  /** The agent reported that it is done. */
  readonly complete: boolean;
  readonly [field: string]: unknown;
}

/** Records the state of an agent: what it reports, and the fields that all agents' states share. */
export function captureState<T extends AgentState>(
  run: Run,
  type: AdapterStateType<T>,
  agent: AgentProgress & Pick<AgentState, 'workspacePath' | 'createdAt'>,
): Promise<AdapterStateSnapshot> {
  const { ns: promptNs, key: promptKey, hash: promptHash } = run.prompt;
  const { nextSequence: messageCount } = currentEvaluation(run);
  const shared = {
    adapterType: type.adapterType,
    lastActivityAt: nowOf(run),
    promptNs,
    promptKey,
    promptHash,
    messageCount,
  };
  return recordState(run, type, { ...agent, ...shared });
}

/** When a running agent's state is captured. */
export class CaptureSchedule {
  readonly #run: Run;
  readonly #capture: () => Promise<AdapterStateSnapshot | undefined>;
  readonly #strategy: CaptureStrategy;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(run: Run, strategy: CaptureStrategy, capture: () => Promise<AdapterStateSnapshot | undefined>) {
    this.#run = run;
    this.#capture = capture;
    this.#strategy = strategy;
  }

  /** The agent's session has begun: captured whatever the strategy, for without it nothing can be resumed. */
  async begun(): Promise<void> {
    await this.#capture();
    this.#arm();
  }

  async toolUsed(): Promise<void> {
    if (this.#strategy === 'on-tool-use') await this.#capture();
  }

  /** Stops periodic captures. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** The agent's process has ended. Its last state is captured, unless another process holds the lease by now. */
  async ended(): Promise<void> {
    this.stop();
    const { aborted, reason } = this.#run.aborter.signal;
    if (!aborted || reason instanceof Suspension) await this.#capture();
  }

  #arm(): void {
    if (this.#stopped || typeof this.#strategy !== 'object') return;
    this.#cancel();
    this.#cancel = this.#run.session.clock.after(
      this.#strategy.periodic,
      () => {
        // An append that fails stops the run by itself.
        this.#capture().then(
          () => this.#arm(),
          () => {},
        );
      },
      { background: true },
    );
  }
}
