import { hostname } from 'node:os';
import type { AdapterState } from '../core/log/adapter-state.ts';
import type { SessionView } from '../core/views/session-view.ts';

/** Something on a host that a run has to remove before it ends: a process, a directory. */
export interface HostState extends AdapterState {
  readonly host: string;
  /** The session that owns it. A fork inherits the state and must not act on it. */
  readonly sessionId?: string;
}

/**
 * The newest state of this kind of each evaluation, if a dead holder may have left it on this host. An evaluation that ended on
 * this host has removed its own.
 */
export function leftOnHost<T extends HostState>(session: SessionView, adapterType: T['adapterType']): readonly T[] {
  const { adapterStates, evaluations } = session.state.record;
  const host = hostname();
  const here = new Map<string, T>();
  const newestHost = new Map<string, string>();
  for (const { evaluationId, state: captured } of adapterStates) {
    if (captured.adapterType !== adapterType) continue;
    const state = captured as T;
    newestHost.set(evaluationId, state.host);
    if (state.host === host) here.set(evaluationId, state);
  }
  return [...here].flatMap(([evaluationId, state]) => {
    const status = evaluations.get(evaluationId)?.status;
    const isOver = (status === 'completed' || status === 'failed') && newestHost.get(evaluationId) === host;
    const isOthers = state.sessionId !== undefined && state.sessionId !== session.id;
    return isOver || isOthers ? [] : [state];
  });
}
