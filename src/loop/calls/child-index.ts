import type { Evaluation } from '../../core/fold/evaluations.ts';
import { type CallRef, callKey } from '../../core/log/messages.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { hasParams, inputHash, paramsHash } from '../evaluate/evaluation-identity.ts';
import type { ChildOptions } from '../evaluate/provider-adapter.ts';

/**
 * The child conversations in the log by the call that asked for them. Every evaluation is looked at once, however many calls
 * ask: only the holder of the lease begins children, and the list of evaluations only grows.
 */
export class ChildIndex {
  readonly #session: AnySession;
  readonly #children = new Map<string, string[]>();
  #seen: number | undefined;

  constructor(session: AnySession) {
    this.#session = session;
  }

  /** The children of a call in log order. */
  of(call: CallRef): readonly Evaluation[] {
    const { evaluations } = this.#session.state.record;
    this.#seen ??= this.#oldest(call);
    for (; this.#seen < evaluations.length; this.#seen++) {
      const evaluation = evaluations.items.at(this.#seen);
      if (!evaluation?.parent) continue;
      const key = callKey(evaluation.parent);
      const siblings = this.#children.get(key);
      if (siblings) siblings.push(evaluation.id);
      else this.#children.set(key, [evaluation.id]);
    }
    const ids = this.#children.get(callKey(call)) ?? [];
    return ids.flatMap((id) => evaluations.get(id) ?? []);
  }

  /** Where to begin: no child is older than the main conversation's evaluation that it belongs to. */
  #oldest(call: CallRef): number {
    const { evaluations } = this.#session.state.record;
    const above = new Set<string>();
    let root = call.evaluationId;
    for (let id: string | undefined = root; id !== undefined && !above.has(id); ) {
      above.add(id);
      root = id;
      id = evaluations.get(id)?.parent?.evaluationId;
    }
    return Math.max(0, evaluations.indexOf(root));
  }
}

/** A recorded child and the last part of its conversation's id: its key, or its place among the call's children. */
export interface RecordedChild {
  readonly name: string;
  readonly evaluation: Evaluation;
}

/** The children that `ctx.evaluate` began under this prefix: by their key, or without one by their place. */
export function childrenUnder(prefix: string, evaluations: readonly Evaluation[]): readonly RecordedChild[] {
  return evaluations.flatMap((evaluation) => {
    if (!evaluation.conversationId.startsWith(prefix) || evaluation.status === 'superseded') return [];
    const name = evaluation.conversationId.slice(prefix.length);
    const isOwn = evaluation.key === undefined ? /^\d+$/.test(name) : evaluation.key === name;
    return isOwn ? [{ name, evaluation }] : [];
  });
}

/**
 * The recorded child that a request without a key asks for: the first one of equal prompt, input and params that this run of the
 * handler has not asked for yet. Handlers that run again may ask in another order, so the place alone does not identify it.
 */
export function matchChild(
  children: readonly RecordedChild[],
  asked: { readonly prompt: Prompt<unknown>; readonly options: ChildOptions; readonly ordinal: string },
): RecordedChild | undefined {
  const { prompt, options, ordinal } = asked;
  const input = inputHash(options);
  const params = paramsHash(options);
  const equal = children.filter(({ name, evaluation }) => {
    if (evaluation.key !== undefined) return false;
    if (evaluation.promptNs !== prompt.ns || evaluation.promptKey !== prompt.key) return false;
    if (evaluation.inputHash === '') return name === ordinal; // recorded without an identity
    return evaluation.inputHash === input && hasParams(evaluation, params);
  });
  // A prompt that changed since is checked by the resume (D4); one with the same instructions is preferred.
  const unchanged = equal.filter(({ evaluation }) => evaluation.promptHash === prompt.hash);
  const candidates = unchanged.length > 0 ? unchanged : equal;
  const byOrdinal = candidates.find(({ name, evaluation }) => evaluation.paramsHash === undefined && name === ordinal);
  return byOrdinal ?? candidates[0];
}
