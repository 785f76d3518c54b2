import { type Evaluation, isOpen } from '../../core/fold/evaluations.ts';
import type { PromptIdentity } from '../../core/log/prompt-identity.ts';
import type { AnySession } from '../../session/session.ts';
import { perSession } from './per-session.ts';

/**
 * Finds evaluations of the main conversation by key and by status. Looks at each evaluation once per session handle, so that a
 * chat of many evaluations pays for the new ones only.
 */
export class EvaluationIndex {
  readonly #session: AnySession;
  readonly #byKey = new Map<string, string>();
  #seen = 0;
  /** Everything before it has ended, and what has ended stays so. */
  #ended = 0;

  constructor(session: AnySession) {
    this.#session = session;
  }

  /** The newest evaluation of a prompt that was started with this key. */
  withKey(prompt: PromptIdentity, key: string): Evaluation | undefined {
    const { evaluations } = this.#session.state.record;
    for (; this.#seen < evaluations.length; this.#seen++) {
      const evaluation = evaluations.items.at(this.#seen);
      if (evaluation?.key === undefined || evaluation.conversationId !== 'main') continue;
      const { promptNs: ns, promptKey } = evaluation;
      this.#byKey.set(nameOf({ ns, key: promptKey }, evaluation.key), evaluation.id);
    }
    const id = this.#byKey.get(nameOf(prompt, key));
    return id === undefined ? undefined : evaluations.get(id);
  }

  /** An open evaluation of another prompt. Messages that were imported without a start are of no known prompt. */
  openOfAnother(prompt: PromptIdentity): Evaluation | undefined {
    const { items } = this.#session.state.record.evaluations;
    let mayBeOpen: number | undefined;
    for (let i = this.#ended; i < items.length; i++) {
      const evaluation = items.at(i);
      if (!evaluation || !isRunHere(evaluation)) continue;
      mayBeOpen ??= i;
      if (evaluation.promptNs === prompt.ns && evaluation.promptKey === prompt.key) continue;
      this.#ended = mayBeOpen;
      return evaluation;
    }
    this.#ended = mayBeOpen ?? items.length;
    return undefined;
  }
}

function isRunHere(evaluation: Evaluation): boolean {
  return evaluation.conversationId === 'main' && evaluation.promptHash !== '' && isOpen(evaluation);
}

function nameOf(prompt: Pick<PromptIdentity, 'ns' | 'key'>, key: string): string {
  return JSON.stringify([prompt.ns, prompt.key, key]);
}

/** The index of a session. */
export const evaluationIndex: (session: AnySession) => EvaluationIndex = perSession(
  (session) => new EvaluationIndex(session),
);
