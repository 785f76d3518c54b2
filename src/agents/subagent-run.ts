import { isOpen } from '../core/fold/evaluations.ts';
import { type CallRef, callKey } from '../core/log/messages.ts';
import { type Run, record } from '../loop/evaluate/run.ts';
import { interruptLeftDraft } from '../loop/request/stream-response.ts';

/** The evaluation of a subagent: named by the call that started it, so that it is found again. */
export function subagentEvaluationId(call: CallRef): string {
  return `${callKey(call)}/agent`;
}

/** Begins the child conversation of a subagent, unless it is in the log already; its run is its parent's in all else. */
export async function beginSubagent(
  parentRun: Run,
  callId: string,
  agent: { readonly ns: string; readonly type: string },
): Promise<Run> {
  const { evaluations } = parentRun.session.state.record;
  const parent = evaluations.get(parentRun.evaluationId)?.calls.find((call) => call.callId === callId);
  const ref: CallRef = { evaluationId: parentRun.evaluationId, turn: parent?.turn ?? 1, callId };
  const evaluationId = subagentEvaluationId(ref);
  if (!evaluations.has(evaluationId)) {
    await record(parentRun, [
      {
        type: 'evaluation/started',
        evaluationId,
        conversationId: evaluationId,
        promptNs: agent.ns,
        promptKey: agent.type,
        promptHash: '-',
        inputHash: '',
        parent: ref,
        ...(parentRun.agent && { adapterType: parentRun.agent.adapterType }),
      },
    ]);
  }
  return { ...parentRun, evaluationId, attempts: 0, draft: undefined };
}

/** Turns drafts that the subagents of a dead process left into events: no other code looks for them. */
export async function interruptLeftSubagents(run: Run): Promise<void> {
  for (const evaluation of run.session.state.record.evaluations.items) {
    if (evaluation.parent && isOpen(evaluation)) await interruptLeftDraft(run, evaluation);
  }
}
