import { HoldfastError } from '../core/errors.ts';
import { type Evaluation, isOpen } from '../core/evaluations.ts';
import { promptMismatch } from '../core/prompt-identity.ts';
import { getLatestEvaluation } from '../core/views.ts';
import type { AnySession } from '../session/session.ts';
import type { Prompt } from './define-prompt.ts';
import { inputHash } from './evaluation-identity.ts';
import type { EvaluateOptions } from './provider-adapter.ts';

/** Which evaluation to go on with, or none to begin one (D2). Refuses a prompt that is not the one it was started with (D4). */
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
    typeof resume === 'object'
      ? session.state.record.evaluations.get(resume.evaluationId)
      : getLatestEvaluation(session, { ns: prompt.ns, key: prompt.key, conversationId });
  if (resume === 'auto') {
    const same = found?.inputHash === inputHash(options) && (isOpen(found) || found.status === 'completed');
    if (!found || !same) return undefined;
  }
  if (!found) {
    throw new HoldfastError(
      'CONVERSATION_NOT_FOUND',
      `session ${session.id} has no evaluation of ${prompt.ns}/${prompt.key} to resume; evaluate without resume, or with resume: 'auto'`,
    );
  }
  if (found.status === 'superseded') {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `evaluation ${found.id} was superseded; resume the newest one`);
  }
  const why = promptMismatch(found, prompt, options.promptValidation ?? 'strict');
  if (why) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `evaluation ${found.id} cannot be resumed: ${why}; use promptValidation: 'relaxed' to go on anyway, or start again`,
    );
  }
  return found;
}
