import type { ErrorCode } from '../errors.ts';
import type { AdapterStateSnapshot } from './adapter-state.ts';
import type { CallRef, ConversationMessage, MediaPart, TextPart } from './messages.ts';
import type { SourceDescribedFields, SourceRecordedFields, SourceReplacedFields } from './source-events.ts';
import type { Usage } from './usage.ts';
import type {
  EvaluationSuspendedFields,
  RaisedBudget,
  SessionResumedFields,
  SessionSuspendedFields,
  ToolDeferredFields,
} from './waiting-events.ts';

export type {
  DeferredOutcome,
  ProviderFailure,
  RaisedBudget,
  ReachedLimit,
  SuspendReason,
  UnknownReconcile,
  UnreconciledCall,
} from './waiting-events.ts';

/**
 * The events of a log. Every event is `{ seq, at, type, … }`, named noun/past-verb, and stored unchanged. The fold and the resume
 * plan know only the built-in events below (D54); all others are the user's own, and are stored as they are.
 */

export interface EventEnvelope {
  /** Position in the session's log, from 1, without gaps. The store assigns it. */
  readonly seq: number;
  /** ISO time from the session's clock. Never used for ordering. */
  readonly at: string;
  /** Dispatched by a tool that then failed: slices that roll back skip it, the others fold it. */
  readonly discarded?: true;
}

/** Whether a tool may be repeated after a crash: it only reads, it may be repeated, or it is repeated only when it is known not to have happened. */
export type ToolEffect = 'read' | 'idempotent' | 'once';

/** A person's decision on a call whose outcome is unknown: its result, or permission to run it again. */
export type Settlement = { readonly result: unknown; readonly isError?: boolean } | { readonly rerun: true };

/** Title, tags or metadata of the session were set. */
export type SessionDescribed = EventEnvelope & {
  readonly type: 'session/described';
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Merged key by key; `null` removes a key. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};
/** The session began as a copy of another one. */
export type SessionForked = EventEnvelope & {
  readonly type: 'session/forked';
  readonly origin: { readonly sessionId: string; readonly seq: number };
};
/** A snapshot was restored into the session. */
export type SessionRestored = EventEnvelope & {
  readonly type: 'session/restored';
  /** The items of every slice that rolls back; a slice that holds a value has one item. */
  readonly slices: Readonly<Record<string, readonly unknown[]>>;
  /** The versions of slices that the restoring process does not define: it stores them for other processes. */
  readonly versions?: Readonly<Record<string, number>>;
};
/** An evaluation of a prompt started. */
export type EvaluationStarted = EventEnvelope & {
  readonly type: 'evaluation/started';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly promptHash: string;
  readonly inputHash: string;
  /** The hash of the parameters that were bound in the instructions. Absent in logs from before it was recorded. */
  readonly paramsHash?: string;
  /** Distinguishes equal inputs. */
  readonly key?: string;
  /** The evaluation whose messages this one begins with. */
  readonly continues?: string;
  /** The call that started this child conversation. */
  readonly parent?: CallRef;
  /** The adapter that runs it, unless it is our own loop. */
  readonly adapterType?: string;
};
/** A message became part of the conversation. */
export type MessageRecorded = EventEnvelope & {
  readonly type: 'message/recorded';
  readonly message: ConversationMessage;
  readonly usage?: Usage;
  readonly model?: string;
  readonly finishReason?: string;
  /** The queued input that became this message: recording the message places the input. */
  readonly inputId?: string;
};
/** An input was sent to the session. `run` places it by recording a message with its `inputId`. */
export type InputQueued = EventEnvelope & {
  readonly type: 'input/queued';
  readonly inputId: string;
  readonly mode: InputMode;
  readonly content: InputContent;
  /** The name of the agent that it is for; without one the newest evaluation's agent, or the only one. */
  readonly agent?: string;
  /** Who sent it. */
  readonly by?: string;
};
/** A queued input was withdrawn and will not be placed. */
export type InputWithdrawn = EventEnvelope & {
  readonly type: 'input/withdrawn';
  readonly inputId: string;
  /** The position of its `input/queued` event. */
  readonly queuedSeq: number;
  readonly by?: string;
};
/** `next` starts an evaluation after the current one; `steer` joins the running evaluation before its next request. */
export type InputMode = 'next' | 'steer';
/** The content of an input. */
export type InputContent = readonly (TextPart | MediaPart)[];
/** The kind of a block in a draft, and the tool's name if it is a call's arguments. */
export interface DraftKind {
  readonly kind?: 'text' | 'reasoning' | 'tool-input' | 'progress';
  readonly toolName?: string;
}
/** A response was cut off by a crash or a cancellation. */
export type MessageInterrupted = EventEnvelope & {
  readonly type: 'message/interrupted';
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly turn: number;
  readonly attempt: number;
  /** The text that had arrived when the stream broke: shown, never sent. */
  readonly blocks: readonly ({ readonly blockId: string; readonly text: string } & DraftKind)[];
};
/** The content of a message was removed from the log; its place stays. */
export type MessageErased = EventEnvelope & {
  readonly type: 'message/erased';
  readonly messageId: string;
  readonly reason?: string;
};
/** A tool call is about to run: recorded before its handler is called. */
export type ToolStarted = EventEnvelope &
  CallRef & {
    readonly type: 'tool/started';
    readonly toolName: string;
    readonly effect: ToolEffect;
    /** 1 for the first run. */
    readonly attempt: number;
    /** The fence of the lease under which it was started: the call may be running as long as that lease is live. */
    readonly fence?: number;
  };
/** A call waits for a person's approval. */
export type ToolApprovalRequested = EventEnvelope &
  CallRef & {
    readonly type: 'tool/approval-requested';
    readonly toolName: string;
    /** ISO time after which approvals are rejected and the call is denied. */
    readonly expiresAt?: string;
    /** Why an approval was rejected: its edited arguments do not fit the tool's schema. The call waits again. */
    readonly problem?: string;
  };
/** A person approved a call. */
export type ToolApproved = EventEnvelope &
  CallRef & {
    readonly type: 'tool/approved';
    readonly by?: string;
    readonly note?: string;
    /** The arguments that replace the model's. */
    readonly arguments?: unknown;
    /** The same for a session or a call with redaction: the edited arguments are stored outside the log. */
    readonly edited?: true;
  };
/** A person denied a call. */
export type ToolDenied = EventEnvelope &
  CallRef & { readonly type: 'tool/denied'; readonly reason?: string; readonly by?: string };
/** A person settled a call whose outcome was unknown. */
export type ToolSettled = EventEnvelope &
  CallRef & { readonly type: 'tool/settled'; readonly how: Settlement; readonly by?: string };
/** Another process, or another call of `evaluate`, continues an evaluation. */
export type EvaluationResumed = EventEnvelope & {
  readonly type: 'evaluation/resumed';
  readonly evaluationId: string;
  /** 2 for the first resume. */
  readonly attempt: number;
  /** The process that resumed it. */
  readonly by: string;
  /** The last seq that this process had read when it resumed: a later request to cancel still applies. Absent: none does. */
  readonly after?: number;
};
/** A person or a program requests that an evaluation stops; the holder of the lease carries it out. */
export type EvaluationCancelRequested = EventEnvelope & {
  readonly type: 'evaluation/cancel-requested';
  readonly evaluationId: string;
  readonly reason?: string;
  /** The person or program that requested it. */
  readonly by?: string;
};
/** A person or a program requests that a suspended evaluation continues; a runner carries it out. */
export type EvaluationResumeRequested = EventEnvelope & {
  readonly type: 'evaluation/resume-requested';
  readonly evaluationId: string;
  /** Limits that replace the runner's from now on. */
  readonly budget?: RaisedBudget;
  readonly maxTurns?: number;
  /** The person or program that requested it. */
  readonly by?: string;
};
/** An evaluation waits: for a person, a time, a limit or its provider. */
export type EvaluationSuspended = EventEnvelope & EvaluationSuspendedFields;
/** A call waits until a time. */
export type ToolDeferred = EventEnvelope & ToolDeferredFields;
/** Workers gave up on the session. */
export type SessionSuspended = EventEnvelope & SessionSuspendedFields;
/** Workers run the session again. */
export type SessionResumed = EventEnvelope & SessionResumedFields;
/** An evaluation ended with its final response. */
export type EvaluationCompleted = EventEnvelope & {
  readonly type: 'evaluation/completed';
  readonly evaluationId: string;
};
/** An evaluation ended with an error. */
export type EvaluationFailed = EventEnvelope & {
  readonly type: 'evaluation/failed';
  readonly evaluationId: string;
  readonly error: { readonly code: ErrorCode; readonly message: string };
};
/** A newer evaluation replaced this one, or a person abandoned it. */
export type EvaluationSuperseded = EventEnvelope & {
  readonly type: 'evaluation/superseded';
  readonly evaluationId: string;
  /** The evaluation that replaced it; absent when it was abandoned. */
  readonly by?: string;
  /** Why it was abandoned, and by whom. */
  readonly reason?: string;
  readonly abandonedBy?: string;
};
/** An agent that runs its own loop captured its state. */
export type AdapterCaptured = EventEnvelope & {
  readonly type: 'adapter/captured';
  readonly snapshot: AdapterStateSnapshot;
};
/** A history manager chose what a request holds. */
export type HistoryCurated = EventEnvelope & {
  readonly type: 'history/curated';
  readonly evaluationId: string;
  readonly turn: number;
  readonly promptName: string;
  readonly strategy: string;
  readonly originalCount: number;
  readonly curatedCount: number;
  readonly estimatedTokens: number;
  /** The share of the previous request that this one starts with, 0 to 1. */
  readonly prefixKept: number;
  /** What the loop repaired in the manager's result. */
  readonly repairs?: readonly string[];
  /** The provider refused this request as too long; later ones to the same model are cut to `maxTokens`. */
  readonly refused?: RequestRefusal & { readonly status?: number; readonly message: string };
  /** The limit that an earlier refusal set for this request. */
  readonly maxTokens?: number;
};
/** The consequence of a request that a model refused as too long. */
export interface RequestRefusal {
  readonly model: string;
  /** The maximum of estimated tokens for later requests to this model. */
  readonly maxTokens: number;
}
/** A model summarized a part of the conversation for later requests. */
export type HistorySummarized = EventEnvelope & {
  readonly type: 'history/summarized';
  readonly evaluationId: string;
  /** Range and parameters: the same range and parameters find the same summary again. */
  readonly key: string;
  readonly text: string;
  readonly usage?: Usage;
};

/** An event of an imported session, whose log holds the records of another agent. */
export type SourceEvent = EventEnvelope & (SourceDescribedFields | SourceRecordedFields | SourceReplacedFields);

/** The events that Holdfast itself writes and folds. */
export type BuiltInEvent =
  | SessionDescribed
  | SessionForked
  | SessionRestored
  | SessionSuspended
  | SessionResumed
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
  | ToolDeferred
  | EvaluationResumed
  | EvaluationCancelRequested
  | EvaluationResumeRequested
  | EvaluationSuspended
  | EvaluationCompleted
  | EvaluationFailed
  | EvaluationSuperseded
  | AdapterCaptured
  | HistoryCurated
  | HistorySummarized
  | SourceEvent;

/** Only for the compiler. */
declare const own: unique symbol;

/**
 * The type of an event that is not built in, for the compiler. At run time it is any string. The brand lets
 * `event.type === 'message/recorded'` narrow: without it, TypeScript would keep events whose `type` is `string` in the narrowed union.
 */
// biome-ignore lint/suspicious/noExplicitAny: the compiler considers `string` equal to every literal, this pattern to none
export type OwnType<Type extends string = `${any}`> = Type & { readonly [own]: true };

/** A user's own event, or one of an unknown version: stored, and folded by the slices that handle its type. */
export type UserEvent = EventEnvelope & { readonly type: OwnType; readonly [field: string]: unknown };

/** An event of a session's log. `event.type === '…'` narrows it to a built-in event; all others have unknown fields. */
export type SessionEvent = BuiltInEvent | UserEvent;

/** An event as a caller's code creates it: built in, or of any other type. */
export type LooseEvent = BuiltInEvent | (EventEnvelope & { readonly type: string; readonly [field: string]: unknown });

/** `Omit` that keeps a union a union. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** An event that is not in the log yet: the store assigns its `seq`. */
export type NewEvent =
  | Without<BuiltInEvent, 'seq'>
  | (Omit<EventEnvelope, 'seq'> & { readonly type: string; readonly [field: string]: unknown });

/** The same, as the session returns it before it is stored. `event.type === '…'` narrows it. */
export type UnstoredEvent =
  | Without<BuiltInEvent, 'seq'>
  | (Omit<EventEnvelope, 'seq'> & { readonly type: OwnType; readonly [field: string]: unknown });

/** Every built-in type; the compiler reports a missing one. */
const BUILT_IN: { readonly [T in BuiltInEvent['type']]: true } = {
  'session/described': true,
  'session/forked': true,
  'session/restored': true,
  'session/suspended': true,
  'session/resumed': true,
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
  'tool/deferred': true,
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
  'source/described': true,
  'source/recorded': true,
  'source/replaced': true,
};

const TYPES: ReadonlyMap<string, string> = new Map(Object.keys(BUILT_IN).map((type) => [type, type]));

/**
 * Returns the string instance that the code compares with. A type read from a database is a copy, and comparing copies is slower than
 * comparing references; every event that is read is compared several times.
 */
export function knownType(type: string): string {
  return TYPES.get(type) ?? type;
}

/** Whether an event is built in. */
export function isBuiltInEvent(event: { readonly type: string }): event is BuiltInEvent {
  return Object.hasOwn(BUILT_IN, event.type);
}

/** A user's own event whose fields the compiler does not know: branded, so that it is not confused with a slice's event. */
export type OtherEvent = UserEvent & { readonly [own]?: true };

/**
 * Whether an event of a log is not built in, and has this type if one is given. For events that no slice of the session folds: the
 * compiler does not know their types, so `event.type === '…'` cannot narrow to them.
 */
export function isUserEvent(event: { readonly type: string }, type: string = event.type): event is OtherEvent {
  return event.type === type && 'seq' in event && !isBuiltInEvent(event);
}
