import { HoldfastError } from '../../core/errors.ts';
import { type Evaluation, isOpen } from '../../core/fold/evaluations.ts';
import { type PromptIdentity, promptMismatch } from '../../core/log/prompt-identity.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { hasParams, inputHash, paramsHash } from './evaluation-identity.ts';
import { perSession } from './per-session.ts';
import type { EvaluateOptions } from './provider-adapter.ts';

/** The evaluation to resume, or undefined to begin one (D2). Throws for a prompt other than the one it was started with (D4). */
export function findEvaluation(
  session: AnySession,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
  conversationId: string,
): Evaluation | undefined {
  const { resume = false } = options;
  if (resume === false) return undefined;
  if (typeof resume === 'object' && 'adapterState' in resume) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'this adapter keeps everything in the log; resume with true, "auto" or { evaluationId }',
    );
  }
  const found =
    resume === 'auto'
      ? findEqual(session, prompt, options)
      : resume === true
        ? session.latestEvaluation({ ns: prompt.ns, key: prompt.key, conversationId })
        : session.state.record.evaluations.get(resume.evaluationId);
  if (!found && resume === 'auto') return undefined;
  if (resume === true && (!found || found.status === 'superseded')) refuseOpenOfAnother(session, prompt);
  if (!found) {
    const missing =
      typeof resume === 'object'
        ? `no evaluation ${resume.evaluationId}; session.latestEvaluation() returns the newest`
        : `no evaluation of ${prompt.ns}/${prompt.key} to resume; use resume: 'auto', which starts one`;
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `session ${session.id} has ${missing}`);
  }
  if (found.status === 'superseded') {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `evaluation ${found.id} was superseded; resume the newest one`);
  }
  const why = promptMismatch(found, prompt, options.promptValidation ?? 'strict');
  if (why) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `evaluation ${found.id} cannot be resumed: ${why}; ${toStartAgain(found)}`,
    );
  }
  return found;
}

/**
 * How to begin a new evaluation instead. It is a new request: the model may make calls again whose effects are done or unknown, under
 * other idempotency keys.
 */
function toStartAgain(evaluation: Evaluation): string {
  return isOpen(evaluation)
    ? 'to start again, settle its open calls or abandon it with session.abandon first, then evaluate without resume: the new evaluation may make the same calls again'
    : 'to start again, evaluate without resume: the new evaluation may make the same calls again';
}

/**
 * The evaluation that `resume: 'auto'` continues, or undefined to begin one: the one that has this key, or else the newest of the
 * prompt, if its input and params are equal and it is open or completed (D2, D64).
 */
function findEqual(session: AnySession, prompt: Prompt<unknown>, options: EvaluateOptions): Evaluation | undefined {
  const { key } = options;
  const index = evaluationIndex(session);
  const input = inputHash(options);
  const keyed = key === undefined ? undefined : index.withKey(prompt, key);
  if (keyed && keyed.inputHash !== input) {
    throw new HoldfastError(
      'KEY_REUSED',
      `evaluation ${keyed.id} of ${prompt.ns}/${prompt.key} has the key "${key}" and other input; give each input a key of its own`,
    );
  }
  const found = keyed ?? session.latestEvaluation({ ns: prompt.ns, key: prompt.key });
  if (found?.inputHash === input && (isOpen(found) || found.status === 'completed')) {
    if (hasParams(found, paramsHash(options))) return found;
    if (isOpen(found)) {
      throw new HoldfastError(
        'PROMPT_MISMATCH',
        `evaluation ${found.id} of ${prompt.ns}/${prompt.key} is open and was started with other params; use resume: true to continue with its own; ${toStartAgain(found)}`,
      );
    }
  }
  refuseOpenOfAnother(session, prompt);
  return undefined;
}

/** An open evaluation of another prompt is neither resumed with this one nor left behind unnoticed. */
function refuseOpenOfAnother(session: AnySession, prompt: Prompt<unknown>): void {
  const other = evaluationIndex(session).openOfAnother(prompt);
  if (!other) return;
  throw new HoldfastError(
    'PROMPT_MISMATCH',
    `evaluation ${other.id} of ${other.promptNs}/${other.promptKey} is open, and this is ${prompt.ns}/${prompt.key}; resume it with its own prompt, or use resume: false to start another beside it`,
  );
}

/**
 * Finds evaluations of the main conversation by key and by status. Looks at each evaluation once per session handle, so that a
 * chat of many evaluations pays for the new ones only.
 */
class EvaluationIndex {
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

const evaluationIndex = perSession((session) => new EvaluationIndex(session));
