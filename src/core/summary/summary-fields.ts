import type { BuiltInEvent, SessionEvent } from '../log/events.ts';

/**
 * The fields that a summary reads of the events of each type. The fold receives events with these fields only (`SummarizedEvent`), so
 * the compiler rejects a fold that reads another one. Everything that looks at them instead of the whole event uses this table: what
 * stores copy of an append, and whether a replaced event changes a summary.
 */
const FIELDS = {
  'session/described': ['title', 'tags', 'metadata'],
  'session/forked': ['origin'],
  'session/restored': ['slices'],
  'session/suspended': ['at', 'error', 'attempts'],
  'session/resumed': [],
  'evaluation/started': ['evaluationId', 'conversationId'],
  'message/recorded': ['message', 'usage', 'inputId'],
  'message/interrupted': [],
  'message/erased': [],
  'input/queued': [],
  'input/withdrawn': ['queuedSeq'],
  'tool/started': ['evaluationId', 'turn', 'callId'],
  'tool/approval-requested': ['evaluationId', 'turn', 'callId', 'expiresAt'],
  'tool/approved': ['evaluationId', 'turn', 'callId'],
  'tool/denied': ['evaluationId', 'turn', 'callId'],
  'tool/settled': ['evaluationId', 'turn', 'callId'],
  'tool/deferred': [],
  'evaluation/resumed': ['evaluationId', 'after'],
  'evaluation/cancel-requested': ['evaluationId'],
  'evaluation/resume-requested': ['evaluationId'],
  'evaluation/suspended': ['evaluationId', 'reason', 'until'],
  'evaluation/completed': ['evaluationId'],
  'evaluation/failed': ['evaluationId'],
  'evaluation/superseded': ['evaluationId', 'by'],
  'adapter/captured': [],
  'history/curated': [],
  'history/summarized': ['usage'],
  'source/described': ['architecture', 'sessionId', 'path', 'layout', 'title', 'cwd', 'createdAt', 'messages'],
  'source/recorded': ['file', 'generation', 'offset', 'bytes', 'stamp', 'redacted', 'erased'],
  'source/replaced': ['file', 'generation'],
} as const;

/** What a summary reads of fields that may be large. */
const PARTS = {
  message: ['role', 'evaluationId', 'turn', 'toolCallId'],
  slices: ['evaluations'],
} as const;

type Type = BuiltInEvent['type'];
type EventOf<T extends Type> = Extract<BuiltInEvent, { readonly type: T }>;
type PartOf<Value, Name extends PropertyKey> = Value extends unknown
  ? string extends keyof Value
    ? { readonly [N in Name]?: Value[keyof Value] } // a record: any of its keys may be absent
    : Pick<Value, Extract<keyof Value, Name>>
  : never;
type Read<Event, Name extends keyof Event> = {
  readonly [N in keyof Pick<Event, Name>]: N extends keyof typeof PARTS
    ? PartOf<Event[N], (typeof PARTS)[N][number]>
    : Event[N];
};
type FieldName<T extends Type> = Extract<(typeof FIELDS)[T][number], keyof EventOf<T>>;

/** A built-in event with the fields that a summary reads. */
export type SummarizedEvent<T extends Type = Type> = T extends unknown
  ? { readonly seq: number } & Read<EventOf<T>, 'type' | FieldName<T>>
  : never;

/**
 * The fields that a summary reads of an event of this type, except its position; absent ones are left out. They are copies, as JSON
 * represents them. Undefined for a type that is not built in.
 */
export function summaryFields(type: string, event: object): object | undefined {
  return Object.hasOwn(FIELDS, type) ? picked(event, FIELDS[type as Type]) : undefined;
}

function picked(from: object, names: readonly string[]): object {
  const fields: Record<string, unknown> = {};
  for (const name of names) {
    const value = (from as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    const parts = typeof value === 'object' && value !== null && partsOf(name);
    fields[name] = parts ? picked(value, parts) : copied(value);
  }
  return fields;
}

function partsOf(name: string): readonly string[] | undefined {
  return Object.hasOwn(PARTS, name) ? PARTS[name as keyof typeof PARTS] : undefined;
}

/** Most fields are texts and numbers, which need no copy. */
function copied(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return value;
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * Whether replacing an event changes the summary of its session, so that the store must fold the summary again from the log. Compares
 * the fields that `summarizeSession` may read: erasing a message's content changes none of them, and must not cost a fold of a million
 * events.
 */
export function changesSummary(before: SessionEvent, after: SessionEvent): boolean {
  if (after.seq === 1 && before.at !== after.at) return true; // the session's start time
  return fieldsRead(before) !== fieldsRead(after);
}

/** Undefined for an event that is not built in. The type of every other one matters: most of them end a suspension of the session (D79). */
function fieldsRead(event: SessionEvent): string | undefined {
  const fields = summaryFields(event.type, event);
  if (!fields) return undefined;
  // Whether records were erased is part of a summary, which ones is not.
  return JSON.stringify([event.type, { ...fields, ...('erased' in fields && { erased: true }) }]);
}

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
