import type { BuiltInEvent } from '../log/events.ts';

/**
 * The events that a person or a program appends without running the session, and that can give a runner work (D61). All other work is
 * found by the clock: a wake-up that is due, or a holder that died.
 */
const MAKES_WORK: ReadonlySet<string> = new Set<BuiltInEvent['type']>([
  'input/queued',
  'input/withdrawn',
  'tool/approved',
  'tool/denied',
  'tool/settled',
  'evaluation/cancel-requested',
  'evaluation/resume-requested',
  'evaluation/superseded',
  'session/resumed',
  'session/restored',
]);

/** Whether an append with this event can give a runner work: the store rings its doorbell. */
export function makesWork({ type }: { readonly type: string }): boolean {
  return MAKES_WORK.has(type);
}
