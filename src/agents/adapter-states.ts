import { canonicalJson } from '../core/canonical-json.ts';
import { isOpen } from '../core/fold/evaluations.ts';
import type { AdapterState, AdapterStateSnapshot } from '../core/log/adapter-state.ts';
import {
  adapterStateFor,
  type CompositeAdapterState,
  composeAdapterStates,
} from '../core/log/composite-adapter-state.ts';
import type { SessionView } from '../core/views/session-view.ts';

/** Questions about the adapter states that a session has captured. */

/** The newest capture of an adapter in one evaluation: the only one that counts. */
export function latestSnapshot(
  session: SessionView,
  evaluationId: string,
  adapterType: string,
): AdapterStateSnapshot | undefined {
  return session.state.record.adapterStates
    .toArray()
    .findLast((one) => one.evaluationId === evaluationId && one.state.adapterType === adapterType);
}

/**
 * The newest state that an adapter can be resumed from. Each evaluation is judged by its newest capture and by how it ended,
 * so a completed evaluation is never resumed through an older capture. With a prompt: only its own.
 */
export function findResumableState(
  session: SessionView,
  adapterType: string,
  prompt?: { readonly ns: string; readonly key: string },
): AdapterState | undefined {
  const { adapterStates, evaluations } = session.state.record;
  const judged = new Set<string>();
  for (const { evaluationId, state: captured, resumable } of adapterStates.toArray().toReversed()) {
    const state = adapterStateFor(captured, adapterType);
    if (!state || judged.has(evaluationId)) continue;
    judged.add(evaluationId);
    const evaluation = evaluations.get(evaluationId);
    if (prompt && (state.promptNs !== prompt.ns || state.promptKey !== prompt.key)) continue;
    if (resumable && (!evaluation || isOpen(evaluation))) return state;
  }
  return undefined;
}

/** The newest resumable state of each adapter that worked in the session, as one state. */
export function findCompositeState(
  session: SessionView,
  prompt?: { readonly ns: string; readonly key: string },
): CompositeAdapterState | undefined {
  const captured = session.state.record.adapterStates.toArray().map(({ state }) => state);
  const types = new Set(Object.keys(composeAdapterStates(captured).states));
  const states = [...types].flatMap((type) => findResumableState(session, type, prompt) ?? []);
  return states.length > 0 ? composeAdapterStates(states) : undefined;
}

/** One field that differs between two states. */
export interface AdapterStateChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** How two captures differ. */
export interface AdapterStateDiff {
  readonly sameAdapter: boolean;
  readonly changes: readonly AdapterStateChange[];
}

/** What changed between two states or captures, field by field; an absent field is `undefined`. */
export function diffAdapterStates(
  before: AdapterState | AdapterStateSnapshot,
  after: AdapterState | AdapterStateSnapshot,
): AdapterStateDiff {
  const [from, to] = [stateOf(before), stateOf(after)];
  const fields = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  const changes = fields
    .filter((field) => canonicalJson(from[field] ?? null) !== canonicalJson(to[field] ?? null))
    .map((field) => ({ field, before: from[field], after: to[field] }));
  return { sameAdapter: from.adapterType === to.adapterType, changes };
}

function stateOf(given: AdapterState | AdapterStateSnapshot): AdapterState {
  return 'capturedAt' in given && 'state' in given ? (given as AdapterStateSnapshot).state : (given as AdapterState);
}
