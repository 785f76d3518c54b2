import type { RunResult } from '../loop/evaluate/provider-adapter.ts';
import type { AnySession } from '../session/session.ts';

/** Requests that an evaluation is continued which this process interrupted, and no person. */
export async function leaveForNext(session: AnySession, { responses }: RunResult<unknown>): Promise<void> {
  const last = responses.at(-1);
  if (last?.reason !== 'CANCELLED') return;
  const evaluation = session.state.record.evaluations.get(last.evaluationId);
  if (evaluation?.status !== 'suspended' || evaluation.cancelRequest) return;
  await session.resume({ evaluationId: evaluation.id, by: 'holdfast/worker' });
}
