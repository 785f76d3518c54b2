import { HoldfastError } from '../../core/errors.ts';
import { editedKey, exactKey } from '../../core/fold/call-arguments.ts';
import {
  isBuiltInEvent,
  type MessageRecorded,
  type NewEvent,
  type SessionEvent,
  type ToolApproved,
} from '../../core/log/events.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import { type CallRef, callsOf, type ToolCall } from '../../core/log/messages.ts';

/**
 * What redaction does to arguments (D77): the event keeps what `redact` made of them, and the exact ones become contents of their
 * calls, so that the tool runs with them before and after a crash.
 */

/** The exact arguments of a call, to be stored in the append of their event. */
export interface ExactArguments {
  readonly call: string;
  readonly text: string;
}

/** An event whose edited arguments are to be stored outside it. */
export function hasEdit(event: { readonly type: string }): event is ToolApproved {
  return event.type === 'tool/approved' && (event as ToolApproved).arguments !== undefined;
}

/** An approval marked as edited without the arguments, and those arguments. */
export function withoutEdit(event: Omit<ToolApproved, 'seq'>): { event: NewEvent; exact: readonly ExactArguments[] } {
  const { arguments: written, ...rest } = event;
  return { event: { ...rest, edited: true }, exact: [{ call: editedKey(event), text: JSON.stringify(written) }] };
}

/** What a built-in event is about, as one text. Taken before `redact`, which may change the event that it gets. */
export function identityOf(event: NewEvent): string | undefined {
  if (!isBuiltInEvent(event as SessionEvent)) return undefined;
  const { type, message, ...fields } = event as unknown as Readonly<Record<string, unknown>>;
  if (!isRecord(message)) {
    // Without `by` a superseded evaluation would be an abandoned one (D61); in other events it names a person.
    const successor = type === 'evaluation/superseded' ? fields.by : undefined;
    return JSON.stringify([type, ABOUT.map((name) => fields[name]), successor]);
  }
  const calls = Array.isArray(message.toolCalls)
    ? message.toolCalls.map((call) => (isRecord(call) ? call.callId : call))
    : [];
  return JSON.stringify([type, ABOUT.map((name) => message[name]), calls, fields.inputId]);
}

const ABOUT = [
  'id',
  'evaluationId',
  'conversationId',
  'sequence',
  'turn',
  'role',
  'toolCallId',
  'callId',
  'attempt',
  'inputId',
  'mode',
] as const;

/** Throws when `redact` returned an event about something else: the loop would wait for an event that is never appended. */
export function checkIdentity(before: string | undefined, event: NewEvent): void {
  if (identityOf(event) === before) return;
  throw new HoldfastError(
    'EVENT_INVALID',
    `redact turned an event into ${event.type} about something else; it may change the content of events, not their type, ids, role, turn or place`,
  );
}

/** The arguments of an event's calls by call id. Taken before `redact`, which may change the event that it gets. */
export function argumentsIn(event: NewEvent): ReadonlyMap<string, string> | undefined {
  const calls = event.type === 'message/recorded' ? callsOf((event as MessageRecorded).message) : [];
  return calls.length === 0 ? undefined : new Map(calls.map((call) => [call.callId, call.arguments]));
}

/** Marks the calls of a redacted event whose arguments are not the exact ones, and returns the exact ones. The event is our own. */
export function markRedacted(event: NewEvent, exact: ReadonlyMap<string, string>): readonly ExactArguments[] {
  if (event.type !== 'message/recorded') return [];
  const { message } = event as MessageRecorded;
  const { evaluationId, turn } = message;
  return callsOf(message).flatMap((call) => {
    const text = exact.get(call.callId);
    if (text === call.arguments) return [];
    (call as { -readonly [Field in keyof ToolCall]: ToolCall[Field] }).argumentsRedacted = true;
    const ref: CallRef = { evaluationId, turn, callId: call.callId };
    return text === undefined ? [] : [{ call: exactKey(ref), text }];
  });
}
