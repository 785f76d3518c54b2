import type { AdapterStateSnapshot } from './adapter-state.ts';
import type { ErrorCode } from './errors.ts';
import type { CallRef, ConversationMessage, MediaPart, TextPart } from './messages.ts';
import type { Usage } from './usage.ts';

/**
 * The log's vocabulary. Every event is `{ seq, at, type, … }`, named noun/past-verb, persisted as it is. The built-in ones
 * below are all that the fold and the resume plan know (D54); anything else is the user's own and is kept as it came.
 */

export interface EventEnvelope {
  /** Position in the session's log, from 1, without gaps. The store assigns it. */
  readonly seq: number;
  /** ISO time from the session's clock. Never used for order (D12). */
  readonly at: string;
  /** Dispatched by a tool that then failed: slices that roll back skip it, the others keep it (D21). */
  readonly discarded?: true;
}

/** What may be done again after a crash (D18): reading, an act that may be repeated, an act that must happen once. */
export type ToolEffect = 'read' | 'idempotent' | 'once';

/** Why an evaluation waits (D13). */
export type SuspendReason = Extract<
  ErrorCode,
  | 'APPROVAL_REQUIRED'
  | 'TOOL_OUTCOME_UNKNOWN'
  | 'DEADLINE_EXCEEDED'
  | 'BUDGET_EXCEEDED'
  | 'TURN_LIMIT'
  | 'CANCELLED'
  | 'PROVIDER_FAILED'
>;

/** A person's word on a call whose outcome is unknown: what came of it, or leave to run it again. */
export type Settlement = { readonly result: unknown; readonly isError?: boolean } | { readonly rerun: true };

export type SessionDescribed = EventEnvelope & {
  readonly type: 'session/described';
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Merged key by key; `null` removes a key. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};
export type SessionForked = EventEnvelope & {
  readonly type: 'session/forked';
  readonly origin: { readonly sessionId: string; readonly seq: number };
};
export type SessionRestored = EventEnvelope & {
  readonly type: 'session/restored';
  /** The items of every slice that rolls back; a slice that is a value is one item. */
  readonly slices: Readonly<Record<string, readonly unknown[]>>;
  /** The versions of slices that the process which restored them does not define: it keeps them for others (D6). */
  readonly versions?: Readonly<Record<string, number>>;
};
export type EvaluationStarted = EventEnvelope & {
  readonly type: 'evaluation/started';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly promptHash: string;
  readonly inputHash: string;
  /** Of the values that were bound in the instructions (D64). Absent in logs from before it was recorded. */
  readonly paramsHash?: string;
  /** Tells equal inputs apart (D2). */
  readonly key?: string;
  /** The evaluation whose messages this one begins with (D50). */
  readonly continues?: string;
  /** The call that asked for this child conversation (D52). */
  readonly parent?: CallRef;
  /** The adapter that runs it, when it is not our own loop. */
  readonly adapterType?: string;
};
export type MessageRecorded = EventEnvelope & {
  readonly type: 'message/recorded';
  readonly message: ConversationMessage;
  readonly usage?: Usage;
  readonly model?: string;
  readonly finishReason?: string;
  /** The queued input that this message is (D61): recording the message places the input. */
  readonly inputId?: string;
};
/** An input was sent to the session (D61). `run` places it by recording a message with its `inputId`. */
export type InputQueued = EventEnvelope & {
  readonly type: 'input/queued';
  readonly inputId: string;
  readonly mode: InputMode;
  readonly content: InputContent;
  /** Who sent it. */
  readonly by?: string;
};
/** A queued input is not placed any more. */
export type InputWithdrawn = EventEnvelope & {
  readonly type: 'input/withdrawn';
  readonly inputId: string;
  /** The position of its `input/queued`. */
  readonly queuedSeq: number;
  readonly by?: string;
};
/** `next` begins an evaluation after the ones before it; `steer` joins the evaluation that runs, before its next request. */
export type InputMode = 'next' | 'steer';
/** What an input says. */
export type InputContent = readonly (TextPart | MediaPart)[];
/** What a block of an answer that is being given will be, and whose input it is if it is a call's. */
export interface DraftKind {
  readonly kind?: 'text' | 'reasoning' | 'tool-input' | 'progress';
  readonly toolName?: string;
}
export type MessageInterrupted = EventEnvelope & {
  readonly type: 'message/interrupted';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly attempt: number;
  /** What had been said when the stream broke: shown, never sent (D53). */
  readonly blocks: readonly ({ readonly blockId: string; readonly text: string } & DraftKind)[];
};
export type MessageErased = EventEnvelope & {
  readonly type: 'message/erased';
  readonly messageId: string;
  readonly reason?: string;
};
export type ToolStarted = EventEnvelope &
  CallRef & {
    readonly type: 'tool/started';
    readonly toolName: string;
    readonly effect: ToolEffect;
    /** 1 for the first run. */
    readonly attempt: number;
    /** The fence of the lease under which it was started: while that lease lives, so may the call. */
    readonly fence?: number;
  };
/** A call waits for a person's approval (D67). */
export type ToolApprovalRequested = EventEnvelope &
  CallRef & {
    readonly type: 'tool/approval-requested';
    readonly toolName: string;
    /** ISO time after which no approval is accepted and the call is denied. */
    readonly expiresAt?: string;
    /** Why an approval did not count: its edited arguments do not fit the tool's schema. The call waits again. */
    readonly problem?: string;
  };
export type ToolApproved = EventEnvelope &
  CallRef & {
    readonly type: 'tool/approved';
    readonly by?: string;
    readonly note?: string;
    /** The arguments that the tool runs with instead of the model's. */
    readonly arguments?: unknown;
    /** The same, of a session or a call with redaction: the edited arguments are stored outside the log (D77). */
    readonly edited?: true;
  };
export type ToolDenied = EventEnvelope &
  CallRef & { readonly type: 'tool/denied'; readonly reason?: string; readonly by?: string };
export type ToolSettled = EventEnvelope & CallRef & { readonly type: 'tool/settled'; readonly how: Settlement };
/** Another process, or another call of `evaluate`, continues an evaluation (D68). */
export type EvaluationResumed = EventEnvelope & {
  readonly type: 'evaluation/resumed';
  readonly evaluationId: string;
  /** 2 for the first resume. */
  readonly attempt: number;
  /** The process that resumed it. */
  readonly by: string;
  /** The last seq that this process had read when it resumed: a later request to cancel still counts (D73). Absent: all of them. */
  readonly after?: number;
};
/** A person or a program wants an evaluation to stop; the holder of the lease obeys (D73). */
export type EvaluationCancelRequested = EventEnvelope & {
  readonly type: 'evaluation/cancel-requested';
  readonly evaluationId: string;
  readonly reason?: string;
  /** Who requested it. */
  readonly by?: string;
};
/** A person or a program wants a suspended evaluation to continue; a runner obeys (D73). */
export type EvaluationResumeRequested = EventEnvelope & {
  readonly type: 'evaluation/resume-requested';
  readonly evaluationId: string;
  /** Limits that replace those of the runner from now on. */
  readonly budget?: RaisedBudget;
  readonly maxTurns?: number;
  /** Who requested it. */
  readonly by?: string;
};
/** The limits of a budget that a request to resume may raise. */
export interface RaisedBudget {
  readonly maxTokens?: number;
  readonly maxInputTokens?: number;
  readonly maxOutputTokens?: number;
  readonly maxCostUsd?: number;
}
/** A provider that gave no response, and the HTTP status of its last refusal, if it had one. */
export interface ProviderFailure {
  readonly provider: string;
  readonly status?: number;
}

export type EvaluationSuspended = EventEnvelope & {
  readonly type: 'evaluation/suspended';
  readonly evaluationId: string;
  readonly reason: SuspendReason;
  readonly message: string;
  readonly pending: readonly CallRef[];
  /** Which provider failed, if that is the reason. */
  readonly failure?: ProviderFailure;
};
export type EvaluationCompleted = EventEnvelope & {
  readonly type: 'evaluation/completed';
  readonly evaluationId: string;
};
export type EvaluationFailed = EventEnvelope & {
  readonly type: 'evaluation/failed';
  readonly evaluationId: string;
  readonly error: { readonly code: ErrorCode; readonly message: string };
};
export type EvaluationSuperseded = EventEnvelope & {
  readonly type: 'evaluation/superseded';
  readonly evaluationId: string;
  /** The evaluation that took its place; absent when it was abandoned. */
  readonly by?: string;
  /** Why it was abandoned, and who did it. */
  readonly reason?: string;
  readonly abandonedBy?: string;
};
export type AdapterCaptured = EventEnvelope & {
  readonly type: 'adapter/captured';
  readonly snapshot: AdapterStateSnapshot;
};
export type HistoryCurated = EventEnvelope & {
  readonly type: 'history/curated';
  readonly evaluationId: string;
  readonly turn: number;
  readonly promptName: string;
  readonly strategy: string;
  readonly originalCount: number;
  readonly curatedCount: number;
  readonly estimatedTokens: number;
  /** Share of the previous request that this one begins with, 0 to 1. */
  readonly prefixKept: number;
  /** What had to be mended in the manager's answer (D32). */
  readonly repairs?: readonly string[];
  /** The provider refused this request as too long; later ones to the same model are cut to `maxTokens`. */
  readonly refused?: RequestRefusal & { readonly status?: number; readonly message: string };
  /** The limit that an earlier refusal set for this request. */
  readonly maxTokens?: number;
};
/** What a model's refusal of a request as too long leads to. */
export interface RequestRefusal {
  readonly model: string;
  /** The most tokens, as estimated here, that later requests to this model may hold. */
  readonly maxTokens: number;
}
export type HistorySummarized = EventEnvelope & {
  readonly type: 'history/summarized';
  readonly evaluationId: string;
  /** Range and parameters: the same request finds the same summary again (D56). */
  readonly key: string;
  readonly text: string;
  readonly usage?: Usage;
};

/** The events that Holdfast itself writes and understands. */
export type BuiltInEvent =
  | SessionDescribed
  | SessionForked
  | SessionRestored
  | EvaluationStarted
  | MessageRecorded
  | MessageInterrupted
  | MessageErased
  | InputQueued
  | InputWithdrawn
  | ToolStarted
  | ToolApprovalRequested
  | ToolApproved
  | ToolDenied
  | ToolSettled
  | EvaluationResumed
  | EvaluationCancelRequested
  | EvaluationResumeRequested
  | EvaluationSuspended
  | EvaluationCompleted
  | EvaluationFailed
  | EvaluationSuperseded
  | AdapterCaptured
  | HistoryCurated
  | HistorySummarized;

/** Exists for the compiler only. */
declare const own: unique symbol;

/**
 * The type of an event that is not one of ours, as the compiler sees it. It is a string like any other; the mark is what lets
 * `event.type === 'message/recorded'` narrow: TypeScript would keep an event whose `type` is `string` beside the one that was named.
 */
// biome-ignore lint/suspicious/noExplicitAny: the compiler considers `string` equal to every literal, this pattern to none
export type OwnType<Type extends string = `${any}`> = Type & { readonly [own]: true };

/** An event of the user's own, or of a version that we do not know: kept, folded by whoever registered for it. */
export type UserEvent = EventEnvelope & { readonly type: OwnType; readonly [field: string]: unknown };

/** An event as it stands in a session's log. `event.type === '…'` narrows it to one of ours; the others have unknown fields. */
export type SessionEvent = BuiltInEvent | UserEvent;

/** An event as a caller's own code makes it: one of ours, or any other, of any type. */
export type LooseEvent = BuiltInEvent | (EventEnvelope & { readonly type: string; readonly [field: string]: unknown });

/** `Omit` that keeps a union a union. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** An event on its way into the log: the store gives it its `seq`. */
export type NewEvent =
  | Without<BuiltInEvent, 'seq'>
  | (Omit<EventEnvelope, 'seq'> & { readonly type: string; readonly [field: string]: unknown });

/** The same as the session hands it out before it is stored. `event.type === '…'` narrows it. */
export type UnstoredEvent =
  | Without<BuiltInEvent, 'seq'>
  | (Omit<EventEnvelope, 'seq'> & { readonly type: OwnType; readonly [field: string]: unknown });

/** Every built-in type; the compiler says when one is missing. */
const BUILT_IN: { readonly [T in BuiltInEvent['type']]: true } = {
  'session/described': true,
  'session/forked': true,
  'session/restored': true,
  'evaluation/started': true,
  'message/recorded': true,
  'message/interrupted': true,
  'message/erased': true,
  'input/queued': true,
  'input/withdrawn': true,
  'tool/started': true,
  'tool/approval-requested': true,
  'tool/approved': true,
  'tool/denied': true,
  'tool/settled': true,
  'evaluation/resumed': true,
  'evaluation/cancel-requested': true,
  'evaluation/resume-requested': true,
  'evaluation/suspended': true,
  'evaluation/completed': true,
  'evaluation/failed': true,
  'evaluation/superseded': true,
  'adapter/captured': true,
  'history/curated': true,
  'history/summarized': true,
};

const TYPES: ReadonlyMap<string, string> = new Map(Object.keys(BUILT_IN).map((type) => [type, type]));

/**
 * The same type as the string that the code compares with: one that came out of a database is a copy, and comparing copies costs
 * more than comparing references, several times for every event that is ever read.
 */
export function knownType(type: string): string {
  return TYPES.get(type) ?? type;
}

/** Whether an event is one of ours. */
export function isBuiltInEvent(event: { readonly type: string }): event is BuiltInEvent {
  return Object.hasOwn(BUILT_IN, event.type);
}

/** An event of the user's own whose fields the compiler does not know: marked, so that no event of a slice is taken for one. */
export type OtherEvent = UserEvent & { readonly [own]?: true };

/**
 * Whether an event of a log is not one of ours, and of this type if one is given. For events that no slice of the session folds:
 * the compiler does not know their types, so that `event.type === '…'` cannot name them.
 */
export function isUserEvent(event: { readonly type: string }, type: string = event.type): event is OtherEvent {
  return event.type === type && 'seq' in event && !isBuiltInEvent(event);
}
