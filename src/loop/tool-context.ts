import type { CallState } from '../core/evaluations.ts';
import type { SuspendReason } from '../core/events.ts';
import { type CallRef, callKey } from '../core/messages.ts';
import type { StagedSession } from '../session/staged-session.ts';
import type { Prompt } from './define-prompt.ts';
import type { ToolContext } from './define-tool.ts';
import type { ChildOptions, EvaluationResponse } from './provider-adapter.ts';
import { currentEvaluation, type Run } from './run.ts';

/** Thrown out of `ctx.evaluate` when the child waits: the call waits with it. */
export class ChildSuspended extends Error {
  readonly reason: SuspendReason;
  readonly pending: readonly CallRef[];

  constructor(response: EvaluationResponse<unknown>) {
    super(response.message ?? 'a child conversation waits');
    this.reason = response.reason ?? 'CANCELLED';
    this.pending = response.pending;
  }
}

/** What a handler is given (D19). */
export function toolContext(
  run: Run,
  call: CallState,
  how: {
    readonly attempt: number;
    readonly isResume: boolean;
    readonly session: StagedSession;
    readonly signal: AbortSignal;
  },
): ToolContext {
  let children = 0;
  return {
    ...how,
    callId: call.callId,
    turn: call.turn,
    evaluationId: call.evaluationId,
    conversationId: currentEvaluation(run).conversationId,
    sessionId: run.session.id,
    idempotencyKey: `${run.session.id}/${callKey(call)}`,
    async evaluate<Output>(prompt: Prompt<Output>, options: ChildOptions = {}): Promise<EvaluationResponse<Output>> {
      const response = await run.child(run, call, prompt as Prompt<unknown>, options, ++children);
      if (response.status === 'suspended') throw new ChildSuspended(response);
      return response as EvaluationResponse<Output>;
    },
  };
}
