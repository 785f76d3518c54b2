/**
 * What the agent does, and whether the things that wait in a session may have changed: queued inputs, and calls that wait for a person.
 * Those are read from the source; their state is more than a page needs to fold.
 */
import type { BuiltInEvent } from '../core/log/events.ts';
import type { SessionReset, TailEvent } from '../core/log/tail.ts';
import type { PendingCall, QueuedInput } from '../core/views/views.ts';

/** What the agent does: nothing; it works; or it is suspended, and waits for a person, a limit, a time or its provider. */
export type AgentStatus = 'idle' | 'working' | 'waiting';

const AGENT_AFTER: Readonly<Record<string, AgentStatus>> = {
  'evaluation/started': 'working',
  'evaluation/resumed': 'working',
  'evaluation/suspended': 'waiting',
  'evaluation/completed': 'idle',
  'evaluation/failed': 'idle',
  'evaluation/superseded': 'idle',
  'session/reset': 'idle',
};

/** Follows the events of one session. */
export class Waiting {
  agent: AgentStatus = 'idle';
  /** The queue or the calls may be others than were read. */
  isStale = false;
  /** Whether a call may wait for a person. */
  mayWait = false;
  /** The newest evaluation of the main conversation. */
  #evaluationId: string | undefined;

  push(item: TailEvent): void {
    const event = item as BuiltInEvent | SessionReset; // or a piece, whose type is none of these
    const { type } = event;
    if (type === 'evaluation/started' && !event.parent) this.#evaluationId = event.evaluationId;
    const status = AGENT_AFTER[type];
    if (status && (!('evaluationId' in event) || event.evaluationId === this.#evaluationId)) this.agent = status;
    this.mayWait ||=
      type === 'tool/approval-requested' || (type === 'evaluation/suspended' && event.pending.length > 0);
    this.isStale ||= /^(input|session)/.test(type) || 'inputId' in event || (this.mayWait && 'seq' in event);
  }

  /** Those of the open calls that wait for a person. */
  waitingOf(open: readonly PendingCall[]): readonly PendingCall[] {
    const waiting = open.filter(waitsForPerson);
    this.mayWait = waiting.length > 0 || this.isStale; // an event may have overtaken the calls that were read
    return waiting;
  }
}

export function waitsForPerson({ waitsFor }: PendingCall): boolean {
  return waitsFor === 'approval' || waitsFor === 'outcome';
}

/** The queue without an input that an event placed or withdrew: it is shown as a message, or not at all. */
export function withoutInputOf(queue: readonly QueuedInput[], event: TailEvent): readonly QueuedInput[] {
  return 'inputId' in event && event.type !== 'input/queued' ? queue.filter(({ id }) => id !== event.inputId) : queue;
}
