import type { UserMessage } from '../../core/log/messages.ts';
import { steersFor } from '../../core/plan/run-plan.ts';
import type { AppendGuard } from '../../session/append/append-queue.ts';
import { PlanChanged } from '../calls/call-guards.ts';
import { currentEvaluation, messageBase, nowOf, type Run, record } from './run.ts';

/**
 * Records the steers that were sent since the evaluation began, after the results of the turn and before the next request (D61).
 * True when the log has changed: the plan is made again.
 */
export async function placeSteers(run: Run): Promise<boolean> {
  const evaluation = currentEvaluation(run);
  const steers = steersFor(run.session.state, evaluation);
  if (steers.length === 0) return false;
  const messages = steers.map(
    ({ content }, i): UserMessage => ({
      ...messageBase(evaluation, { sequence: evaluation.nextSequence + i, turn: evaluation.turn }, nowOf(run)),
      role: 'user',
      content,
    }),
  );
  // External content is loaded: the session stores it again, for the message.
  const whole = await run.session.resolve(messages);
  const ids = steers.map(({ id }) => id);
  try {
    const events = whole.map((message, i) => ({
      type: 'message/recorded' as const,
      message,
      inputId: ids[i] as string,
    }));
    await record(run, events, { guard: whileQueued(ids) });
  } catch (error) {
    if (!(error instanceof PlanChanged)) throw error; // one of them was withdrawn: the next plan places the others
  }
  return true;
}

/** A guard for the append that places steers: throws `PlanChanged` when one of them was withdrawn. */
function whileQueued(inputIds: readonly string[]): AppendGuard {
  return ({ record: { inbox } }) => {
    const gone = inputIds.find((id) => inbox.items.get(id)?.status !== 'queued');
    if (gone !== undefined) throw new PlanChanged(`input ${gone} is not queued any more`);
  };
}
