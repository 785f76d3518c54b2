import { refuseImported } from '../../session/change/imported.ts';
import { holdLease } from '../../session/lease.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { checkOptions } from './check-options.ts';
import type { EvaluateOptions, EvaluationResponse } from './provider-adapter.ts';
import type { LoopSettings } from './run.ts';

/**
 * Evaluates a prompt in a session: begins or resumes, runs until it ends or is suspended, and returns the response. The loop itself is loaded
 * under the first lease, a quarter of the package: a process that opens sessions, reads or sends does not need it.
 */
export async function evaluateInSession(
  settings: LoopSettings,
  session: AnySession,
  prompt: Prompt<unknown>,
  options: EvaluateOptions,
): Promise<EvaluationResponse<unknown>> {
  checkOptions(options);
  refuseImported(session);
  const lease = await holdLease(session.store, session.id, {
    clock: session.clock,
    ttlMs: settings.leaseTtlMs,
    maxBlockedMs: settings.maxBlockedMs,
    waitMs: waitOf(options, session.clock.now()),
    signal: options.signal,
  });
  try {
    const { evaluateUnderLease } = await import('./evaluate.ts');
    await session.refresh(); // the previous holder may have written
    return await evaluateUnderLease({ settings, session, lease }, prompt, options, { conversationId: 'main' });
  } finally {
    await lease.release();
  }
}

/** How long to wait for the lease: not beyond the deadline. */
export function waitOf({ wait = false, deadline }: Pick<EvaluateOptions, 'wait' | 'deadline'>, now: number): number {
  const most = typeof wait === 'number' ? wait : wait ? Number.POSITIVE_INFINITY : 0;
  return deadline === undefined ? most : Math.max(0, Math.min(most, Number(deadline) - now));
}
