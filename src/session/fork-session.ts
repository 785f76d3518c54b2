import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import { isOpen, openCalls } from '../core/evaluations.ts';
import { isBuiltInEvent, type NewEvent, type SessionEvent } from '../core/events.ts';
import { createFold } from '../core/fold.ts';
import type { ToolMessage } from '../core/messages.ts';
import { contentHashes } from './contents.ts';
import type { AnySession } from './session.ts';

/**
 * Copies a session's log, up to `at`, into a session of its own (D55): it survives its origin. Neither draft nor lease comes
 * along, and calls that were open are closed as failed, so that two sessions never carry out the same call.
 */
export async function forkSession(
  session: AnySession,
  options: { readonly id?: string; readonly at?: number },
): Promise<string> {
  const { store } = session;
  const id = options.id ?? `${session.id}-fork-${randomUUID().slice(0, 8)}`;
  if ((await store.head(id)) > 0) {
    throw new HoldfastError('SESSION_CONFLICT', `there is a session ${id} already; choose another id for the fork`);
  }
  const head = await store.head(session.id);
  const at = options.at ?? head;
  if (!Number.isSafeInteger(at) || at < 1 || at > head) {
    throw new HoldfastError('INVALID_ARGUMENT', `session ${session.id} can be forked at 1 to ${head}, not at ${at}`);
  }
  const copied: NewEvent[] = [];
  const fold = createFold();
  let state = fold.initial;
  for await (const event of store.read(session.id, { limit: at })) {
    state = fold.apply(state, event);
    copied.push(withoutSeq(event));
    if (isBuiltInEvent(event) && event.type === 'message/recorded')
      await shareContents(session, id, contentHashes(event.message));
  }
  const now = new Date(session.clock.now()).toISOString();
  const closing: NewEvent[] = [];
  for (const evaluation of state.record.evaluations) {
    if (!isOpen(evaluation)) continue;
    openCalls(evaluation).forEach((call, i) => {
      const sequence = evaluation.nextSequence + i;
      const message: ToolMessage = {
        role: 'tool',
        id: `${evaluation.id}:${sequence}`,
        evaluationId: evaluation.id,
        conversationId: evaluation.conversationId,
        sequence,
        turn: call.turn,
        promptNs: evaluation.promptNs,
        promptKey: evaluation.promptKey,
        createdAt: now,
        toolCallId: call.callId,
        toolName: call.name,
        content: [
          {
            type: 'text',
            text: 'This conversation was forked before the call finished; its outcome belongs to the original.',
          },
        ],
        isError: true,
      };
      closing.push({ type: 'message/recorded', at: now, message });
    });
  }
  const forked: NewEvent = { type: 'session/forked', at: now, origin: { sessionId: session.id, seq: at } };
  await store.append(id, [...copied, forked, ...closing], { id: `fork:${session.id}:${at}:${id}`, expectedSeq: 0 });
  return id;
}

function withoutSeq({ seq: _, ...event }: SessionEvent): NewEvent {
  return event as NewEvent;
}

async function shareContents(session: AnySession, forkId: string, hashes: readonly string[]): Promise<void> {
  for (const hash of hashes) {
    const text = await session.store.readContent(hash);
    if (text !== undefined) await session.store.writeContent(forkId, hash, text);
  }
}
