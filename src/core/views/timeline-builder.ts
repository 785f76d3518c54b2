import { evaluationOf, statusAfter } from '../fold/evaluations.ts';
import {
  type BuiltInEvent,
  type EvaluationResumed,
  type EvaluationStarted,
  isBuiltInEvent,
  type MessageInterrupted,
  type MessageRecorded,
  type SessionEvent,
  type ToolApprovalRequested,
  type ToolStarted,
} from '../log/events.ts';
import { type CallRef, callsOf } from '../log/messages.ts';
import type {
  ApprovalSpan,
  DownSpan,
  SuspendedSpan,
  Timeline,
  TimelineEvaluation,
  TimelineSpan,
  ToolSpan,
} from './timeline.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A call of the newest turn. */
interface FollowedCall {
  readonly name: string;
  /** Where it may have begun: with its response, or when a process resumed it. */
  since: Moment;
  span: Writable<ToolSpan> | undefined;
  approval: Writable<ApprovalSpan> | undefined;
  attempt: number;
  hasResult: boolean;
}

interface Moment {
  readonly at: string;
  readonly seq: number;
}

const DEFAULT_SPANS = 10_000;

/** Builds a timeline from a log, event by event, in memory that is bounded by `maxSpans`. */
export class TimelineBuilder {
  readonly #evaluations = new Map<string, FollowedEvaluation>();
  readonly #maxSpans: number;
  readonly #only: ReadonlySet<string> | undefined;
  #spans = 0;
  #omitted = 0;

  constructor({
    maxSpans = DEFAULT_SPANS,
    only,
  }: { readonly maxSpans?: number; readonly only?: ReadonlySet<string> } = {}) {
    this.#maxSpans = maxSpans;
    this.#only = only;
  }

  /** Takes the next event of the log. */
  push(event: SessionEvent): void {
    if (!isBuiltInEvent(event)) return;
    if (event.type === 'evaluation/started') {
      if (!this.#only || this.#only.has(event.evaluationId)) {
        this.#evaluations.set(event.evaluationId, new FollowedEvaluation(event));
      }
      return;
    }
    const evaluation = this.#evaluations.get(evaluationOf(event) ?? '');
    if (!evaluation) return;
    const before = evaluation.spans.length;
    evaluation.push(event);
    this.#spans += evaluation.spans.length - before;
    if (this.#spans > this.#maxSpans) this.#omit();
  }

  /** The timeline up to the newest event that was pushed. */
  timeline(): Timeline {
    return { evaluations: [...this.#evaluations.values()].map((one) => one.result()), omitted: this.#omitted };
  }

  /** Leaves out the oldest evaluations, but for the newest one. */
  #omit(): void {
    for (const [id, { spans }] of this.#evaluations) {
      if (this.#spans <= this.#maxSpans || this.#evaluations.size === 1) return;
      this.#evaluations.delete(id);
      this.#spans -= spans.length;
      this.#omitted++;
    }
  }
}

/** The timeline of a whole log. Pure. */
export function timelineOf(events: Iterable<SessionEvent>): Timeline {
  const builder = new TimelineBuilder();
  for (const event of events) builder.push(event);
  return builder.timeline();
}

class FollowedEvaluation {
  readonly spans: Writable<TimelineSpan>[] = [];
  readonly #started: EvaluationStarted;
  #status: TimelineEvaluation['status'] = 'running';
  #newest: Moment;
  #ended: Moment | undefined;
  #turn = 0;
  #refusals = 0;
  #calls = new Map<string, FollowedCall>();
  #suspended: Writable<SuspendedSpan> | undefined;
  /** The newest crash. */
  #down: DownSpan | undefined;
  /** For each lane: the position up to which it is taken. */
  readonly #lanes: number[] = [];

  constructor(started: EvaluationStarted) {
    this.#started = started;
    this.#newest = started;
  }

  push(event: BuiltInEvent): void {
    switch (event.type) {
      case 'message/recorded':
        this.#endSuspension(event);
        this.#recordMessage(event);
        break;
      case 'message/interrupted':
        this.#interruptModel(event);
        return; // the process that resumed it writes this: the evaluation itself did not move
      case 'tool/started':
        this.#endSuspension(event);
        this.#startTool(event);
        break;
      case 'tool/approval-requested':
        this.#requestApproval(event);
        break;
      case 'tool/approved':
      case 'tool/denied': {
        const call = this.#callOf(event);
        if (call) call.since = event;
        const outcome = event.type === 'tool/approved' ? 'approved' : 'denied';
        endApproval(call, event, outcome, event.by);
        return; // a person acts, not the evaluation
      }
      case 'tool/settled': {
        const call = this.#callOf(event);
        if (call) call.since = event;
        return;
      }
      case 'history/curated':
        if (event.refused) this.#refusals++;
        return;
      case 'history/summarized': {
        const { key, usage, at, seq } = event;
        this.spans.push({ kind: 'summary', key, from: at, to: at, fromSeq: seq, toSeq: seq, ...(usage && { usage }) });
        return;
      }
      case 'evaluation/resumed':
        this.#resume(event);
        break;
      case 'evaluation/suspended':
        this.#endSuspension(event);
        this.#suspended = {
          ...{ kind: 'suspended', reason: event.reason, message: event.message, from: event.at, fromSeq: event.seq },
        };
        this.spans.push(this.#suspended);
        break;
      case 'evaluation/completed':
      case 'evaluation/failed':
      case 'evaluation/superseded':
        this.#end(event);
        break;
      default:
        return; // requests of people and captured states take no time of the evaluation
    }
    this.#status = statusAfter(this.#status, event);
    this.#newest = event;
  }

  result(): TimelineEvaluation {
    const { evaluationId: id, conversationId, promptNs, promptKey, parent, at: from, seq: fromSeq } = this.#started;
    return {
      ...{ id, conversationId, prompt: `${promptNs}/${promptKey}` },
      ...(parent && { parent }),
      from,
      ...(this.#ended && { to: this.#ended.at }),
      ...{ fromSeq, status: this.#status, turns: this.#turn, lanes: this.#lanes.length },
      spans: [...this.spans.map((span) => ({ ...span })), ...this.#running()],
    };
  }

  /** What is under way although no event has begun it: a request to the model, or calls that only read. */
  #running(): readonly TimelineSpan[] {
    if (this.#status !== 'running') return [];
    const open = [...this.#calls].filter(([, call]) => !call.hasResult);
    if (open.length === 0) {
      const { at: from, seq: fromSeq } = this.#newest;
      return [{ kind: 'model', turn: this.#turn + 1, outcome: 'running', from, fromSeq }];
    }
    return open.flatMap(([callId, { name, span, approval, since, attempt }], i): readonly ToolSpan[] => {
      if (span?.outcome === 'running' || approval?.outcome === 'waiting') return [];
      const begun = { from: since.at, fromSeq: since.seq, lane: this.#lanes.length + i };
      return [
        { kind: 'tool', turn: this.#turn, callId, toolName: name, attempt: attempt + 1, outcome: 'running', ...begun },
      ];
    });
  }

  #recordMessage({ message, usage, model, at, seq }: MessageRecorded): void {
    if (message.role === 'tool') {
      this.#endTool(message.toolCallId, message.toolName, message.isError, { at, seq });
    } else if (message.role === 'assistant' && message.turn > 0) {
      this.spans.push({
        ...{ kind: 'model', turn: message.turn, outcome: 'response', messageId: message.id },
        ...{ from: this.#newest.at, fromSeq: this.#newest.seq, to: at, toSeq: seq },
        ...(model !== undefined && { model }),
        ...(usage && { usage }),
        ...(this.#refusals > 0 && { refusals: this.#refusals }),
      });
      this.#refusals = 0;
      this.#turn = message.turn;
      const call = (name: string): FollowedCall => ({
        ...{ name, since: { at, seq }, span: undefined, approval: undefined, attempt: 0, hasResult: false },
      });
      this.#calls = new Map(callsOf(message).map(({ callId, name }) => [callId, call(name)]));
    }
  }

  #interruptModel({ turn, at, seq }: MessageInterrupted): void {
    const isCrash = this.#down !== undefined && this.#down.toSeq === this.#newest.seq;
    const span = this.#down && isCrash ? { from: this.#down.from, fromSeq: this.#down.fromSeq } : undefined;
    const from = span ?? { from: this.#newest.at, fromSeq: this.#newest.seq };
    // When the process died is not known: no later than the resume.
    const to = span ? { to: span.from, toSeq: span.fromSeq } : { to: at, toSeq: seq };
    this.spans.push({ kind: 'model', turn, outcome: 'interrupted', ...from, ...to });
  }

  #startTool({ callId, toolName, effect, attempt, turn, at, seq }: ToolStarted): void {
    const call = this.#calls.get(callId);
    if (!call || call.hasResult) return;
    endApproval(call, { at, seq }, 'ended');
    if (call.span?.outcome === 'running') this.#close(call.span, { at, seq }, 'interrupted');
    const lane = this.#takeLane(seq, Number.POSITIVE_INFINITY);
    call.attempt = attempt;
    call.span = {
      ...{ kind: 'tool', turn, callId, toolName, effect, attempt, lane, outcome: 'running', from: at, fromSeq: seq },
    };
    this.spans.push(call.span);
  }

  #endTool(callId: string, toolName: string, isError: boolean, moment: Moment): void {
    const call = this.#calls.get(callId);
    if (!call || call.hasResult) return;
    call.hasResult = true;
    endApproval(call, moment, 'ended');
    const outcome = isError ? 'failed' : 'completed';
    if (call.span?.outcome === 'running') {
      this.#close(call.span, moment, outcome);
      return;
    }
    const { at: from, seq: fromSeq } = call.since;
    const wasStarted = call.span !== undefined;
    this.spans.push({
      ...{ kind: 'tool', turn: this.#turn, callId, toolName, outcome, from, fromSeq, to: moment.at, toSeq: moment.seq },
      attempt: Math.max(1, call.attempt),
      lane: this.#takeLane(fromSeq, moment.seq),
      ...(wasStarted && { isRecovered: true }),
      ...(call.span?.effect && { effect: call.span.effect }),
    });
  }

  #requestApproval({ callId, toolName, expiresAt, turn, at, seq }: ToolApprovalRequested): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    endApproval(call, { at, seq }, 'ended');
    call.approval = {
      ...{ kind: 'approval', turn, callId, toolName, outcome: 'waiting', from: at, fromSeq: seq },
      ...(expiresAt !== undefined && { expiresAt }),
    };
    this.spans.push(call.approval);
  }

  #resume(event: EvaluationResumed): void {
    const { at, seq, by, attempt } = event;
    if (this.#status === 'running') {
      const ids = (hasResult: boolean): readonly string[] =>
        [...this.#calls].flatMap(([callId, call]) => (call.hasResult === hasResult ? [callId] : []));
      const { at: from, seq: fromSeq } = this.#newest;
      this.#down = {
        ...{ kind: 'down', from, fromSeq, to: at, toSeq: seq, by, attempt, kept: ids(true), open: ids(false) },
      };
      for (const call of this.#calls.values()) {
        if (call.span?.outcome === 'running') this.#close(call.span, this.#newest, 'interrupted');
        if (!call.hasResult && call.approval?.outcome !== 'waiting') call.since = event;
      }
      this.spans.push(this.#down);
    } else if (this.#status === 'suspended') {
      for (const call of this.#calls.values()) if (!call.hasResult) call.since = event;
    }
    this.#endSuspension(event);
  }

  #endSuspension({ at, seq }: Moment): void {
    if (!this.#suspended) return;
    this.#suspended.to = at;
    this.#suspended.toSeq = seq;
    this.#suspended = undefined;
  }

  #end(event: Moment): void {
    this.#endSuspension(event);
    for (const call of this.#calls.values()) {
      endApproval(call, event, 'ended');
      if (call.span?.outcome === 'running') this.#close(call.span, event, 'interrupted');
    }
    this.#ended ??= event;
  }

  #close(span: Writable<ToolSpan>, { at, seq }: Moment, outcome: ToolSpan['outcome']): void {
    span.to = at < span.from ? span.from : at; // clocks of two processes may differ
    span.toSeq = Math.max(seq, span.fromSeq);
    span.outcome = outcome;
    this.#lanes[span.lane] = span.toSeq;
  }

  /** The first lane that is free from one position to another. */
  #takeLane(from: number, to: number): number {
    const free = this.#lanes.findIndex((taken) => taken <= from);
    const lane = free < 0 ? this.#lanes.length : free;
    this.#lanes[lane] = to;
    return lane;
  }

  #callOf({ callId, turn }: CallRef): FollowedCall | undefined {
    return turn === this.#turn ? this.#calls.get(callId) : undefined;
  }
}

function endApproval(
  call: FollowedCall | undefined,
  { at, seq }: Moment,
  outcome: ApprovalSpan['outcome'],
  by?: string | undefined,
): void {
  if (call?.approval?.outcome !== 'waiting') return;
  call.approval.to = at;
  call.approval.toSeq = seq;
  call.approval.outcome = outcome;
  if (by !== undefined) call.approval.by = by;
}
