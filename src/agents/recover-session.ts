import type { Snapshot } from '../core/fold/snapshot.ts';
import type { Prompt } from '../loop/define/define-prompt.ts';
import type { EvaluateOptions, EvaluationResponse, ProviderAdapter } from '../loop/evaluate/provider-adapter.ts';
import type { Store } from '../ports/store.ts';
import { openSession } from '../session/session.ts';
import { findResumableState } from './adapter-states.ts';
import type { StatefulAdapter } from './stateful-adapter.ts';

/** Options of `recoverSession`. */
export interface RecoverOptions<Output> extends Omit<EvaluateOptions, 'session' | 'resume'> {
  /** Any adapter; one that keeps everything in the log is resumed from the log. */
  readonly adapter: ProviderAdapter | StatefulAdapter;
  readonly prompt: Prompt<Output>;
  readonly store: Store;
  readonly sessionId: string;
  /** The conversation, when the store does not have it yet: what `session.snapshot()` gave before the crash. */
  readonly snapshot?: Snapshot | string;
}

/**
 * What a worker does about a session whose worker died: opens it, ends what was left running, and continues from the newest state
 * that the agent can be resumed from; without one, from our log, or from the beginning.
 */
export async function recoverSession<Output>(options: RecoverOptions<Output>): Promise<EvaluationResponse<Output>> {
  const { adapter, prompt, store, sessionId, snapshot, ...evaluate } = options;
  const session = await openSession({ store, id: sessionId });
  try {
    if (snapshot !== undefined && session.seq === 0) await session.restore(snapshot);
    const adapterState =
      'adapterType' in adapter ? findResumableState(session, adapter.adapterType, prompt) : undefined;
    return await adapter.evaluate(prompt, { ...evaluate, session, resume: adapterState ? { adapterState } : 'auto' });
  } finally {
    await session.close();
  }
}
