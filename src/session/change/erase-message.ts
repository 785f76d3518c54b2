import { HoldfastError } from '../../core/errors.ts';
import { makesCall } from '../../core/fold/asked-calls.ts';
import { erased, erasedAttempt, erasedInput, erasedSettlement, erasedSummary } from '../../core/fold/erased.ts';
import { foldRecord } from '../../core/fold/record.ts';
import { decodeRecord, encodeRecord } from '../../core/fold/record-items.ts';
import type {
  HistorySummarized,
  InputQueued,
  MessageInterrupted,
  MessageRecorded,
  SessionEvent,
  SessionRestored,
  ToolApproved,
  ToolSettled,
} from '../../core/log/events.ts';
import type { CallRef, ConversationMessage } from '../../core/log/messages.ts';
import { eventContentHashes, messagesIn } from '../read/contents.ts';
import type { AnySession } from '../session.ts';
import { closeErasedCalls } from './close-erased-calls.ts';

/**
 * Removes the content of a message (D58). The one change to a log that is not an append: the events keep their place, their payload
 * and summaries that may mention it are overwritten, the stored snapshot and the search hits are removed, and a `message/erased`
 * event records it. Forks made before have their own copy. Calls of the message that were not started are closed first.
 */
export async function eraseMessage(session: AnySession, messageId: string, reason?: string): Promise<void> {
  const { message, recorded, sent, interrupted, settled, approved, restored, summarized, lastSeq } = await findTraces(
    session,
    messageId,
  );
  if (!message) {
    throw new HoldfastError(
      'CONVERSATION_NOT_FOUND',
      `session ${session.id} has no message ${messageId}; list them with session.messages()`,
    );
  }
  await closeErasedCalls(session, message);
  const { store, id, incarnation } = session;
  /** An event keeps the references of the messages that it still holds, and no other. */
  const replace = (event: SessionEvent): Promise<void> =>
    store.replaceEvent(id, event, { incarnation, contents: eventContentHashes(event) });
  for (const event of recorded) await replace(blank(event));
  for (const event of sent) await replace(erasedInput(event));
  for (const event of restored) await replace(withoutMessage(event, messageId));
  for (const event of interrupted) await replace(erasedAttempt(event));
  for (const event of settled) await replace({ ...event, how: erasedSettlement(event.how) });
  for (const { arguments: _, ...event } of approved) await replace(event);
  for (const event of summarized) await replace(erasedSummary(event));
  await session.append([{ type: 'message/erased', messageId, ...(reason !== undefined && { reason }) }]);
  // A running evaluation may have recorded a summary of the message during the erasure. It records none once `message/erased` is in the log.
  for await (const event of session.events({ from: lastSeq + 1, types: ['history/summarized', 'message/erased'] })) {
    if (event.type === 'message/erased' && event.messageId === messageId) break;
    if (event.type === 'history/summarized') await replace(erasedSummary(event));
  }
}

/** What stays of the event: whatever else a program may have written beside the message goes with it. */
function blank({ seq, at, type, message, usage, model, finishReason, inputId }: MessageRecorded): MessageRecorded {
  return {
    seq,
    at,
    type,
    message: erased(message),
    ...(usage && { usage }),
    ...(model !== undefined && { model }),
    ...(finishReason !== undefined && { finishReason }),
    ...(inputId !== undefined && { inputId }), // without it the input would be queued again
  };
}

/** A restored conversation without the content of one message: the fold knows how to erase it. */
function withoutMessage(event: SessionRestored, messageId: string): SessionRestored {
  const erasure = { seq: event.seq, at: event.at, type: 'message/erased', messageId } as const;
  const record = foldRecord(decodeRecord(event.slices), erasure);
  return { ...event, slices: { ...event.slices, ...encodeRecord(record) } };
}

interface Traces {
  readonly message: ConversationMessage | undefined;
  /** The message; more than once when it was written again as it was. */
  readonly recorded: MessageRecorded[];
  /** The input that it was. */
  readonly sent: InputQueued[];
  /** Interrupted attempts at the same response: they hold the beginning of its content. */
  readonly interrupted: MessageInterrupted[];
  /** Settlements by a person that became this message. */
  readonly settled: ToolSettled[];
  /** Approvals with arguments that a person wrote in the place of those of the message's calls. */
  readonly approved: ToolApproved[];
  /** Conversations brought in by a snapshot that hold it. */
  readonly restored: SessionRestored[];
  /** Later summaries, each of which may mention it. */
  readonly summarized: HistorySummarized[];
  /** The last seq that was read. */
  readonly lastSeq: number;
}

async function findTraces(session: AnySession, messageId: string): Promise<Traces> {
  const recorded: MessageRecorded[] = [];
  const restored: SessionRestored[] = [];
  const summarized: HistorySummarized[] = [];
  const attempts: MessageInterrupted[] = [];
  const settlements: ToolSettled[] = [];
  const approvals: ToolApproved[] = [];
  const inputs: InputQueued[] = [];
  let lastSeq = 0;
  for await (const event of session.events()) {
    lastSeq = event.seq;
    if (event.type === 'input/queued') inputs.push(event);
    if (event.type === 'message/interrupted') attempts.push(event);
    if (event.type === 'tool/settled') settlements.push(event);
    if (event.type === 'tool/approved' && event.arguments !== undefined) approvals.push(event);
    if (event.type === 'history/summarized' && recorded.length + restored.length > 0) summarized.push(event);
    const messages = messagesIn(event);
    if (messages.some((message) => message.id === messageId)) {
      if (event.type === 'message/recorded') recorded.push(event);
      else if (event.type === 'session/restored') restored.push(event);
    }
  }
  const message = [...recorded, ...restored].flatMap(messagesIn).find(({ id }) => id === messageId);
  const interrupted = attempts.filter((event) => message?.role === 'assistant' && isOfTurn(message, event));
  const settled = settlements.filter((event) => message && isResultOf(message, event));
  const approved = approvals.filter((event) => message && (isResultOf(message, event) || hasCall(message, event)));
  const sent = inputs.filter(({ inputId }) => recorded.some((event) => event.inputId === inputId));
  return { message, recorded, sent, interrupted, settled, approved, restored, summarized, lastSeq };
}

function isResultOf(message: ConversationMessage, call: CallRef): boolean {
  return message.role === 'tool' && message.toolCallId === call.callId && isOfTurn(message, call);
}

function hasCall(message: ConversationMessage, call: CallRef): boolean {
  return makesCall(message, call.callId) && isOfTurn(message, call);
}

function isOfTurn(
  message: ConversationMessage,
  { evaluationId, turn }: Pick<CallRef, 'evaluationId' | 'turn'>,
): boolean {
  return message.evaluationId === evaluationId && message.turn === turn;
}
