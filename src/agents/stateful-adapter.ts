import type { KnownOptions } from '../core/known-options.ts';
import type { AdapterStateSnapshot } from '../core/log/adapter-state.ts';
import type { ProviderAdapter } from '../loop/evaluate/provider-adapter.ts';
import type { AnySession } from '../session/session.ts';

/**
 * When an adapter's state is captured. The start of its session is always captured, for without it nothing can be
 * resumed; and the end.
 */
export type CaptureStrategy =
  | 'on-tool-use'
  | 'on-complete'
  | 'on-demand'
  /** Every so many milliseconds. */
  | { readonly periodic: number };

/** How a captured state is judged before it is resumed from: workspace, prompt and age; that it can be resumed; nothing. */
export type ResumeValidation = 'strict' | 'relaxed' | 'none';

/** What every stateful adapter is configured with. */
export interface StatefulOptions {
  /** Whether to capture state; without it only our own log is resumed from. */
  readonly captureState?: boolean;
  readonly checkpoint?: CaptureStrategy;
  /** Resume an open evaluation of the prompt when `evaluate` has no `resume`. */
  readonly autoResume?: boolean;
  readonly resumeValidation?: ResumeValidation;
  /** How old a state may be under strict validation, in milliseconds. */
  readonly maxAge?: number;
  /** What to do with a state that validation rejects: throw, or begin again. */
  readonly onInvalid?: 'throw' | 'restart';
  /** Resume in a copy of the agent's session (the default), or continue the session itself. */
  readonly fork?: boolean;
  /** The message to the agent when it is resumed in the middle. */
  readonly continuation?: string;
  /** How long a lease lasts when its process goes silent. */
  readonly leaseTtlMs?: number;
  /** How long a tool may block the event loop before the process counts as hung and loses the session. */
  readonly maxBlockedMs?: number;
}

/** The options that every stateful adapter has. */
export const STATEFUL_OPTIONS: KnownOptions<StatefulOptions> = {
  captureState: true,
  checkpoint: true,
  autoResume: true,
  resumeValidation: true,
  maxAge: true,
  onInvalid: true,
  fork: true,
  continuation: true,
  leaseTtlMs: true,
  maxBlockedMs: true,
};

/**
 * An adapter whose agent keeps state outside our log.
 *
 * Contract: it is a `ProviderAdapter`; its responses carry `adapterState`, and `evaluate` takes one back as
 * `resume: { adapterState }`. `capture` records the state of the evaluation that this adapter is running in a session now.
 */
export interface StatefulAdapter extends ProviderAdapter {
  readonly adapterType: string;
  capture(session: AnySession): Promise<AdapterStateSnapshot | undefined>;
}
