import type { SessionConversationState } from '../../conversation/blocks.ts';
import { createConversationState } from '../../conversation/indexed-state.ts';
import { isHoldfastError } from '../../core/errors.ts';
import type { CallState, Evaluation } from '../../core/fold/evaluations.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { formatTailCursor, parseTailCursor } from '../../core/log/tail-cursor.ts';
import { exportConversation } from '../../importers/export-conversation.ts';
import { conversationOf, messagesOf } from '../../importers/kept/load-imported.ts';
import { readCallArguments } from '../../session/people/call-arguments.ts';
import type { AnySession, Session } from '../../session/session.ts';
import { logConverter } from '../../transcripts/own-log.ts';
import { foldConversation } from '../conversation-cache.ts';
import { afterLongTurn } from '../http/long-turns.ts';
import { type Route, route } from '../route.ts';
import { COUNT, limitOf, listOf, ok, TEXT } from './schemas.ts';

const EVALUATION = { type: 'string', description: 'the id of an evaluation' } as const;
const OBJECT = { type: 'object' } as const;
/** Characters after which a page ends, whatever its limit: an event may have megabytes. */
const MAX_PAGE_LENGTH = 4 * 2 ** 20;

/** Routes that read one session. */
export const SESSION_ROUTES: readonly Route[] = [
  route('GET /sessions/:id', {
    name: 'getSession',
    summary: 'A session: its summary, position, runner and processes',
    response: ok(
      'The session',
      {
        ...{ id: TEXT, seq: COUNT, cursor: TEXT, summary: OBJECT, queued: COUNT, pending: COUNT },
        ...{ lease: OBJECT, runner: OBJECT, processes: listOf('AgentProcess') },
      },
      ['lease', 'runner', 'processes'],
    ),
    inSession: async (session, _, { store, runners, processes }) => {
      const { id, seq, incarnation, summary } = session;
      const lease = await store.readLease(id);
      const runner = runners?.status(id);
      return {
        id,
        seq,
        cursor: formatTailCursor({ incarnation, seq }),
        summary,
        queued: session.state.record.inbox.queued,
        pending: session.pending().length,
        ...(lease && { lease }),
        ...(runner && { runner }),
        ...(processes && { processes: processes.list(id) }),
      };
    },
  }),
  route('GET /sessions/:id/events', {
    name: 'getEvents',
    summary: 'Committed events, in pages of at most 4 MiB or one event',
    query: {
      after: { type: 'string', description: 'a seq or a cursor: only later events' },
      limit: limitOf(1000, 'the most events of a page; 100'),
    },
    response: ok('One page; next is the after of the following one', { events: listOf('SessionEvent'), next: TEXT }, [
      'next',
    ]),
    inSession: (session, { query: { after = '0', limit = 100 } }) => eventPage(session, after, limit),
  }),
  route('GET /sessions/:id/state', {
    name: 'getState',
    summary: 'The conversation as blocks, with its open drafts',
    query: { machinery: { type: 'boolean', description: 'true: with blocks for operators' } },
    response: ok('The state; reviveConversationState reads it', { seq: COUNT, state: OBJECT }),
    inSession: async (session, { query }) => ({
      seq: session.seq,
      state: await stateOf(session, query.machinery),
    }),
  }),
  route('GET /sessions/:id/messages', {
    name: 'getMessages',
    summary: 'Recorded messages, with their external content',
    query: {
      evaluation: EVALUATION,
      continued: { type: 'boolean', description: 'true: also those of the evaluations that it continues' },
    },
    response: ok('The messages', { messages: listOf('ConversationMessage') }),
    inSession: async (session, { query: { evaluation: evaluationId, continued } }) => ({
      messages: session.summary?.source
        ? await messagesOf(session)
        : await session.resolve(session.messages({ evaluationId, continued })),
    }),
  }),
  route('GET /sessions/:id/turns', {
    name: 'getTurns',
    summary: 'The responses with their calls and results, of the main conversation unless an evaluation is named',
    query: { evaluation: EVALUATION },
    response: ok('The turns, oldest first', { turns: listOf('ConversationTurn') }),
    inSession: (session, { query: { evaluation: evaluationId } }) => ({ turns: session.turns({ evaluationId }) }),
  }),
  route('GET /sessions/:id/evaluations', {
    name: 'getEvaluations',
    summary: 'The evaluations of a session, oldest first',
    response: ok('The evaluations', { evaluations: listOf('EvaluationInfo') }),
    inSession: ({ state }) => ({ evaluations: state.record.evaluations.items.map(evaluationInfo) }),
  }),
  route('GET /sessions/:id/queue', {
    name: 'getQueue',
    summary: 'Queued inputs, in sending order',
    response: ok('The inputs', { inputs: listOf('QueuedInput') }),
    inSession: (session) => ({ inputs: session.queue() }),
  }),
  route('GET /sessions/:id/calls', {
    name: 'getCalls',
    summary: 'Open calls, with the arguments that they would run with',
    query: { evaluation: EVALUATION },
    response: ok('The calls', { calls: listOf('CallState, with exactArguments') }),
    inSession: async (session, { query: { evaluation: evaluationId } }) => {
      const calls = session.pending({ evaluationId });
      return { calls: await Promise.all(calls.map((call) => withExactArguments(session, call))) };
    },
  }),
  route('GET /sessions/:id/export', {
    name: 'exportSession',
    summary: 'The conversation as a file',
    query: {
      format: {
        type: 'string',
        enum: ['markdown', 'html', 'json', 'jsonl', 'openai', 'anthropic', 'ai-sdk'],
        description: 'markdown unless given',
      },
      redact: { type: 'boolean', description: 'true: without what looks like a secret' },
      title: { type: 'string', description: 'the title of the document' },
    },
    response: { status: 200, description: 'The file', mediaType: '*/*' },
    inSession: async (session, { query: { format = 'markdown', redact = false, title } }) => {
      const log: SessionEvent[] = [];
      for await (const event of session.events()) {
        log.push(event);
        await afterLongTurn();
      }
      const name = title ?? session.summary?.title ?? session.id;
      const { content, mediaType, extension } = exportConversation(log, { format, redact, title: name });
      return new Response(content, {
        headers: {
          'content-type': `${mediaType}; charset=utf-8`,
          'content-disposition': `attachment; filename="conversation.${extension}"`,
        },
      });
    },
  }),
];

async function eventPage(
  session: Session,
  cursor: string,
  limit: number,
): Promise<{ readonly events: readonly SessionEvent[]; readonly next?: string }> {
  const { incarnation } = session;
  const start = parseTailCursor(cursor);
  // A seq alone is one of this log; a cursor of a deleted log starts again.
  const isOther = cursor.includes(':') && start.incarnation !== incarnation;
  const after = isOther ? 0 : start.seq;
  const events: SessionEvent[] = [];
  let length = 0;
  for await (const event of session.events({ from: after + 1 })) {
    if (events.length === limit || length >= MAX_PAGE_LENGTH) {
      return { events, next: formatTailCursor({ incarnation, seq: events.at(-1)?.seq ?? after }) };
    }
    events.push(event);
    length += JSON.stringify(event).length;
    await afterLongTurn();
  }
  return { events };
}

/** What a screen shows of a session now. */
export async function stateOf(session: AnySession, machinery = false): Promise<SessionConversationState> {
  if (session.summary?.source) return conversationOf(session);
  const converter = logConverter({ machinery });
  return foldConversation(session.events({ drafts: true }), { converter, state: createConversationState() });
}

/** An evaluation without its messages and calls. */
function evaluationInfo({ messages, calls, ...info }: Evaluation): object {
  return {
    ...info,
    messages: messages.length,
    openCalls: calls.filter(({ status }) => status === 'pending' || status === 'started').length,
  };
}

async function withExactArguments(session: AnySession, call: CallState): Promise<object> {
  try {
    return { ...call, exactArguments: await readCallArguments(session, call) };
  } catch (error) {
    // Its exact arguments are not in this store, or it has ended meanwhile.
    if (isHoldfastError(error, 'CONTENT_NOT_FOUND') || isHoldfastError(error, 'TOOL_CALL_NOT_FOUND')) return call;
    throw error;
  }
}
