import type { AnySession, SessionAppendOptions } from '../session.ts';

/** What the loop knows about events that it appends. A program cannot claim it: a wrong claim would corrupt the log. */
export interface LoopKnowledge {
  /** No other append follows in this turn of the event loop: the queue commits without waiting for one. */
  readonly now?: boolean;
  /** The events are valid, plain JSON, owned by the session from here on; the number is their length in characters. They are neither copied nor checked. */
  readonly plain?: number | undefined;
  /** This many of the first events were dispatched by a tool that failed: slices that roll back skip them (D21). */
  readonly discarded?: number;
  /** If a power failure undoes the append, a resume does its work again: the append need not wait for the disk. */
  readonly syncLater?: true;
}

/** Options of an append by the loop. */
export interface LoopAppendOptions extends SessionAppendOptions, LoopKnowledge {}

/** An event as a program passes it. */
export type AnyEvent = { readonly type: string; readonly [field: string]: unknown };

/** The method of the session's handle, which the public interface leaves out. */
interface AppendsForLoop {
  appendForLoop(events: readonly AnyEvent[], options: LoopAppendOptions): Promise<{ readonly seq: number }>;
}

/** `session.append` with what the loop knows about the events. */
export function appendForLoop(
  session: AnySession,
  events: readonly { readonly type: string }[],
  options: LoopAppendOptions,
): Promise<{ readonly seq: number }> {
  return (session as unknown as AppendsForLoop).appendForLoop(events as readonly AnyEvent[], options);
}
