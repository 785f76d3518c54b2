import type { AdapterState, AdapterStateSnapshot, AdapterStateType } from '../core/log/adapter-state.ts';
import { currentEvaluation, nowOf, type Run, record } from '../loop/evaluate/run.ts';
import { Suspension } from '../loop/evaluate/suspension.ts';
import { uniqueId } from '../session/append/unique-id.ts';
import { latestSnapshot } from './adapter-states.ts';
import type { AgentState, CaptureStrategy } from './stateful-adapter.ts';

/** Records a state in the log, as the successor of the evaluation's newest of its kind (D25). */
export async function captureState<T extends AdapterState>(
  run: Run,
  type: AdapterStateType<T>,
  state: T,
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

/** The current values of the fields that all agents' states share. */
export function agentStateNow<T extends AgentState>(
  run: Run,
  agent: {
    readonly adapterType: T['adapterType'];
    readonly sessionId: string;
    readonly workspacePath: string;
    readonly createdAt: string;
    readonly complete: boolean;
  },
): AgentState & { readonly adapterType: T['adapterType'] } {
  const { ns: promptNs, key: promptKey, hash: promptHash } = run.prompt;
  const messageCount = currentEvaluation(run).nextSequence;
  return { ...agent, lastActivityAt: nowOf(run), promptNs, promptKey, promptHash, messageCount };
}

/** When a running agent's state is captured (D24). */
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
