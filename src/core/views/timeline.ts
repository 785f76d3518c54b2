import type { SuspendReason, ToolEffect } from '../log/events.ts';
import type { CallRef } from '../log/messages.ts';
import type { Usage } from '../log/usage.ts';

/**
 * The shapes of a timeline: what an agent did and when, from its log. `TimelineBuilder` makes them.
 *
 *     evaluation ─┬─ model ──┬─ tool, lane 0 ──┬─ model ── down ── model
 *                 │          └─ tool, lane 1 ──┘
 *                 └─ a child conversation names the call that started it (`parent`)
 *
 * Times are those of events: a request is sent after the event before its response, and a process dies after its last event.
 */

/** A piece of time. `to` is absent while it lasts. */
interface Span {
  readonly from: string;
  readonly to?: string;
  /** The events that it lies between. */
  readonly fromSeq: number;
  readonly toSeq?: number;
}

/** A model was called. An interrupted call ends with the last event of the process that died, or with its cancellation. */
export interface ModelSpan extends Span {
  readonly kind: 'model';
  readonly turn: number;
  readonly outcome: 'response' | 'interrupted' | 'running';
  readonly messageId?: string;
  readonly model?: string;
  readonly usage?: Usage;
  /** How many requests of this turn the provider refused as too long. */
  readonly refusals?: number;
}

/** A tool ran, or a person or `reconcile` settled its result after a crash. */
export interface ToolSpan extends Span {
  readonly kind: 'tool';
  readonly turn: number;
  readonly callId: string;
  readonly toolName: string;
  /** Absent for a call whose start is not recorded, such as one that only reads. */
  readonly effect?: ToolEffect;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Calls that ran at the same time are on different lanes, from 0. */
  readonly lane: number;
  readonly outcome: 'completed' | 'failed' | 'interrupted' | 'running';
  /** Its result was recorded after a crash without another start: `reconcile` or a person knew it, or it only reads. */
  readonly isRecovered?: true;
}

/** A call waited for a person. */
export interface ApprovalSpan extends Span {
  readonly kind: 'approval';
  readonly turn: number;
  readonly callId: string;
  readonly toolName: string;
  readonly outcome: 'approved' | 'denied' | 'waiting' | 'ended';
  readonly by?: string;
  readonly expiresAt?: string;
}

/** An evaluation was suspended: it waited for a person, a limit or its provider. */
export interface SuspendedSpan extends Span {
  readonly kind: 'suspended';
  readonly reason: SuspendReason;
  readonly message: string;
}

/** No process ran the evaluation: from the last event of one that died to the resume by another. */
export interface DownSpan extends Span {
  readonly kind: 'down';
  /** The process that resumed it, and the number of that run. */
  readonly by: string;
  readonly attempt: number;
  /** Calls of the newest turn that had their result: they were not repeated. */
  readonly kept: readonly string[];
  /** Calls of the newest turn that had none: they were run again, reconciled or left to a person. */
  readonly open: readonly string[];
}

/** A summary for later requests was recorded. When it was begun is not in the log. */
export interface SummarySpan extends Span {
  readonly kind: 'summary';
  readonly key: string;
  readonly usage?: Usage;
}

/** One piece of an evaluation's time. */
export type TimelineSpan = ModelSpan | ToolSpan | ApprovalSpan | SuspendedSpan | DownSpan | SummarySpan;

/** One evaluation with everything that happened in it, in the order in which it began. */
export interface TimelineEvaluation {
  readonly id: string;
  /** `main`, or the id of a child conversation. */
  readonly conversationId: string;
  readonly prompt: string;
  /** The call that started this child conversation. */
  readonly parent?: CallRef;
  readonly from: string;
  readonly to?: string;
  readonly fromSeq: number;
  readonly status: 'running' | 'suspended' | 'completed' | 'failed' | 'superseded';
  readonly turns: number;
  /** How many lanes its tools need. */
  readonly lanes: number;
  readonly spans: readonly TimelineSpan[];
}

/** What an agent did and when. */
export interface Timeline {
  readonly evaluations: readonly TimelineEvaluation[];
  /** How many evaluations were left out, the oldest ones, to stay within the number of spans. */
  readonly omitted: number;
}
