/**
 * Whether the things that wait in a session may have changed: queued inputs, and calls that wait for a person. They are read from the
 * source; their state is more than a page needs to fold.
 */
import { type CallState, isDecided } from '../core/fold/evaluations.ts';
import type { BuiltInEvent } from '../core/log/events.ts';
import type { CallRef } from '../core/log/messages.ts';
import type { TailEvent } from '../core/log/tail.ts';
import type { QueuedInput } from '../core/views/views.ts';

/** Follows the events of one session. */
export class Waiting {
  /** The queue or the calls may be others than were read. */
  isStale = false;
  /** Whether a call may wait for a person. */
  mayWait = false;
  /** The calls that each suspended evaluation names. */
  readonly #named = new Map<string, ReadonlySet<string>>();

  push(item: TailEvent): void {
    const event = item as BuiltInEvent; // or a piece, whose type is none of these
    const { type } = event;
    if (type === 'evaluation/suspended') this.#named.set(event.evaluationId, new Set(event.pending.map(nameOf)));
    if (type === 'evaluation/resumed') this.#named.delete(event.evaluationId);
    this.mayWait ||=
      type === 'tool/approval-requested' || (type === 'evaluation/suspended' && event.pending.length > 0);
    this.isStale ||= /^(input|session)/.test(type) || 'inputId' in event || (this.mayWait && 'seq' in event);
  }

  /** Those of the open calls that wait for a person. */
  waitingOf(open: readonly CallState[]): readonly CallState[] {
    const waiting = open.filter(
      (call) => !isDecided(call) && (call.approvalRequest || this.#named.get(call.evaluationId)?.has(nameOf(call))),
    );
    this.mayWait = waiting.length > 0 || this.isStale; // an event may have overtaken the calls that were read
    return waiting;
  }
}

/** The queue without an input that an event placed or withdrew: it is shown as a message, or not at all. */
export function withoutInputOf(queue: readonly QueuedInput[], event: TailEvent): readonly QueuedInput[] {
  return 'inputId' in event && event.type !== 'input/queued' ? queue.filter(({ id }) => id !== event.inputId) : queue;
}

function nameOf({ turn, callId }: CallRef): string {
  return `${turn}/${callId}`;
}
