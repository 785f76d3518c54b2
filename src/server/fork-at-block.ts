/** Forks a session at a block of its conversation, also before a message that is sent again in other words or to another model. */
import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import { isOpen, latestEvaluation } from '../core/fold/evaluations.ts';
import type { InputContent, MessageRecorded, SessionDescribed } from '../core/log/events.ts';
import { continueTranscript } from '../importers/kept/continue-transcript.ts';
import { conversationOf } from '../importers/kept/load-imported.ts';
import { type AnySession, openSession, type Session } from '../session/session.ts';
import { logConverter } from '../transcripts/own-log.ts';

/** The body of `POST /sessions/:id/fork`. */
export interface ForkRequest {
  /** The id of the new session. */
  readonly id?: string;
  /** The last event that is copied. */
  readonly at?: number;
  /** The last block that is copied, instead of `at`. */
  readonly block?: string;
  /** Whether the block itself is left out: to send its message again. */
  readonly before?: boolean;
  /** Sent to the new session. */
  readonly input?: string | InputContent;
  /** Set before the input is sent: `agents` may choose a model by `metadata`. */
  readonly title?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly by?: string;
}

/** Forks, describes and sends, in this order. Returns the position of the fork after that. */
export async function forkAtBlock(
  session: Session,
  request: ForkRequest,
): Promise<{ readonly id: string; readonly seq: number }> {
  const { at, block, before = false, input, title, metadata, by } = request;
  if (at !== undefined && block !== undefined) throw invalid('at and block both name a place; give one of them');
  if (before && block === undefined) throw invalid('before needs a block');
  const fork = await copyOf(session, request);
  try {
    const description: Pick<SessionDescribed, 'title' | 'metadata'> = {
      ...(title !== undefined && { title }),
      ...(metadata && { metadata }),
    };
    if (Object.keys(description).length > 0) await fork.describe(description);
    if (input !== undefined) {
      const newest = latestEvaluation(fork.state.record.evaluations.items);
      const mode = newest && isOpen(newest) ? 'steer' : 'next';
      await fork.send(input, { mode, ...(by !== undefined && { by }) });
    }
    return { id: fork.id, seq: fork.seq };
  } finally {
    await fork.close();
  }
}

async function copyOf(session: Session, { id, at, block, before = false, input }: ForkRequest): Promise<AnySession> {
  const named = id === undefined ? {} : { id };
  if (session.summary?.source) {
    if (at !== undefined) throw invalid('an imported session has no events to fork at; name a block');
    const last = block !== undefined && before ? await blockBefore(session, block) : block;
    if (last === undefined && before) return empty(session, id, input);
    return continueTranscript(session.store, session.id, { ...named, at: last });
  }
  const seq = block === undefined ? at : await seqOfBlock(session, block, before);
  if (seq === 0) return empty(session, id, input);
  return session.fork({ ...named, ...(seq !== undefined && { at: seq }) });
}

/** Nothing is before the first message: the fork is a new session, which begins with the input. */
async function empty(session: Session, id: string | undefined, input: ForkRequest['input']): Promise<AnySession> {
  if (input === undefined) throw invalid('there is nothing before this block; give an input to begin with');
  const name = id ?? `${session.id.slice(0, 490)}-fork-${randomUUID().slice(0, 8)}`.toWellFormed();
  const { seq } = await session.store.head(name);
  if (seq > 0) throw new HoldfastError('SESSION_CONFLICT', `session ${name} exists; give the fork another id`);
  return openSession({ store: session.store, id: name });
}

/** The seq of the event that first showed a block of the main conversation; before it, if the block is to be left out. */
async function seqOfBlock(session: Session, block: string, before: boolean): Promise<number> {
  const converter = logConverter({ machinery: true });
  for await (const event of session.events()) {
    const isShown = converter
      .push(event)
      .some((one) => one.type === 'block:upsert' && one.conversationId === 'main' && one.block.id === block);
    if (!isShown) continue;
    if (!before) return event.seq;
    // An evaluation starts with its instructions and its first message, in one append.
    const { message } = event as Partial<MessageRecorded>;
    const evaluation = message && session.state.record.evaluations.get(message.evaluationId);
    const starts = message?.turn === 0 && !evaluation?.messages.slice(0, message.sequence).some(({ turn }) => turn > 0);
    return (evaluation && starts ? evaluation.startedSeq : event.seq) - 1;
  }
  throw notFound(session, block);
}

async function blockBefore(session: Session, block: string): Promise<string | undefined> {
  const { blocks } = await conversationOf(session);
  const all = [...blocks];
  const place = all.findIndex(({ id }) => id === block);
  if (place < 0) throw notFound(session, block);
  return all[place - 1]?.id;
}

function notFound({ id }: AnySession, block: string): HoldfastError {
  const name = JSON.stringify(block.slice(0, 100));
  return new HoldfastError('CONVERSATION_NOT_FOUND', `the main conversation of session ${id} has no block ${name}`);
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}
