import { type Evaluation, isOpen } from '../fold/evaluations.ts';
import { type CallRef, callKey } from '../log/messages.ts';
import type { SummarizedEvent } from './summary-fields.ts';

/** When the approval of each waiting call expires (D67): ISO times by `callKey`. */
export type ApprovalDeadlines = Readonly<Record<string, string>>;

/** Folds one event into the deadlines; returns the same object when the event does not change them. */
export function followDeadlines(deadlines: ApprovalDeadlines, event: SummarizedEvent): ApprovalDeadlines {
  switch (event.type) {
    case 'tool/approval-requested': {
      const others = without(deadlines, event);
      return event.expiresAt === undefined ? others : { ...others, [callKey(event)]: event.expiresAt };
    }
    case 'tool/approved':
    case 'tool/denied':
    case 'tool/settled':
    case 'tool/started':
      return without(deadlines, event);
    case 'message/recorded': {
      const { message } = event;
      return message.role === 'tool' ? without(deadlines, { ...message, callId: message.toolCallId }) : deadlines;
    }
    case 'evaluation/completed':
    case 'evaluation/failed':
    case 'evaluation/superseded':
      return withoutEvaluation(deadlines, event.evaluationId);
    default:
      return deadlines;
  }
}

/** The deadlines of the evaluations in a restored snapshot. */
export function restoredDeadlines(
  evaluations: readonly Partial<Pick<Evaluation, 'status' | 'calls'>>[],
): ApprovalDeadlines {
  const waiting = evaluations
    .filter(isOpen)
    .flatMap(({ calls = [] }) => calls)
    .filter((call) => call.status === 'pending' && call.approval === undefined && call.settlement === undefined);
  return Object.fromEntries(
    waiting.flatMap((call) => {
      const { expiresAt } = call.approvalRequest ?? {};
      return expiresAt === undefined ? [] : [[callKey(call), expiresAt]];
    }),
  );
}

/** The earliest of ISO times; undefined when there is none. */
export function earliestTime(times: readonly string[]): string | undefined {
  let earliest: string | undefined;
  for (const time of times) {
    if (earliest === undefined || Date.parse(time) < Date.parse(earliest)) earliest = time;
  }
  return earliest;
}

function without(deadlines: ApprovalDeadlines, call: CallRef): ApprovalDeadlines {
  const key = callKey(call);
  if (!Object.hasOwn(deadlines, key)) return deadlines;
  const { [key]: _, ...others } = deadlines;
  return others;
}

/** Drops the calls of an evaluation and of the child conversations that they started: their keys start with its id. */
function withoutEvaluation(deadlines: ApprovalDeadlines, evaluationId: string): ApprovalDeadlines {
  const entries = Object.entries(deadlines);
  const others = entries.filter(([key]) => !key.startsWith(`${evaluationId}/`));
  return others.length === entries.length ? deadlines : Object.fromEntries(others);
}
