import type { SessionConversationState } from '../../conversation/blocks.ts';
import { createConversationState } from '../../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../../conversation/reduce-conversation.ts';
import { isHoldfastError } from '../../core/errors.ts';
import type { CallState, Evaluation } from '../../core/fold/evaluations.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { formatTailCursor, parseTailCursor } from '../../core/log/tail-cursor.ts';
import { exportConversation } from '../../importers/export-conversation.ts';
import { conversationOf, messagesOf } from '../../importers/kept/load-imported.ts';
import { readCallArguments } from '../../session/people/call-arguments.ts';
import type { AnySession, Session } from '../../session/session.ts';
import type { ExportFormat } from '../../transcripts/export/export-with.ts';
import { logConverter } from '../../transcripts/own-log.ts';
import { afterLongTurn } from '../http/long-turns.ts';
import { type Route, type RouteRequest, sessionIdOf, withSession } from '../route.ts';
import { COUNT, listOf, resultOf, TEXT } from './schemas.ts';

const EVALUATION = { type: 'string', description: 'the id of an evaluation' } as const;
const MAX_EVENTS = 1000;
/** Characters after which a page ends, whatever its limit: an event may have megabytes. */
const MAX_PAGE_LENGTH = 4 * 2 ** 20;

/** Routes that read one session. */
export const SESSION_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions/:id',
    name: 'getSession',
    summary: 'A session: its summary, position, runner and processes',
    response: {
      status: 200,
      description: 'The session',
      schema: resultOf(
        {
          id: TEXT,
          seq: COUNT,
          cursor: TEXT,
          summary: { type: 'object' },
          queued: COUNT,
          pending: COUNT,
          lease: { type: 'object' },
          runner: { type: 'object' },
          processes: listOf('AgentProcess'),
        },
        ['lease', 'runner', 'processes'],
      ),
    },
    handle: (context, request) =>
      withSession(context, request, async (session) => {
        const { id, seq, incarnation, summary } = session;
        const lease = await context.store.readLease(id);
        const runner = context.runners?.status(id);
        return {
          id,
          seq,
          cursor: formatTailCursor({ incarnation, seq }),
          summary,
          queued: session.state.record.inbox.queued,
          pending: session.pending().length,
          ...(lease && { lease }),
          ...(runner && { runner }),
          ...(context.processes && { processes: context.processes.list(id) }),
        };
      }),
  },
  {
    method: 'GET',
    path: '/sessions/:id/events',
    name: 'getEvents',
    summary: 'Committed events, in pages of at most 4 MiB or one event',
    query: {
      after: { type: 'string', description: 'a seq or a cursor: only later events' },
      limit: { type: 'integer', minimum: 1, maximum: MAX_EVENTS, description: 'the most events of a page; 100' },
    },
    response: {
      status: 200,
      description: 'One page; next is the after of the following one',
      schema: resultOf({ events: listOf('SessionEvent'), next: TEXT }, ['next']),
    },
    handle: (context, request) =>
      withSession(context, request, (session) => {
        const { after = '0', limit = 100 } = request.query as { readonly after?: string; readonly limit?: number };
        return eventPage(session, after, limit);
      }),
  },
  {
    method: 'GET',
    path: '/sessions/:id/state',
    name: 'getState',
    summary: 'The conversation as blocks, with its open drafts',
    query: { machinery: { type: 'boolean', description: 'true: with blocks for operators' } },
    response: {
      status: 200,
      description: 'The state; reviveConversationState reads it',
      schema: resultOf({ seq: COUNT, state: { type: 'object' } }),
    },
    handle: (context, request) =>
      withSession(context, request, async (session) => ({
        seq: session.seq,
        state: session.summary?.source
          ? await conversationOf(session)
          : await stateOf(session, request.query.machinery === true),
      })),
  },
  {
    method: 'GET',
    path: '/sessions/:id/messages',
    name: 'getMessages',
    summary: 'Recorded messages, with their external content',
    query: {
      evaluation: EVALUATION,
      continued: { type: 'boolean', description: 'true: also those of the evaluations that it continues' },
    },
    response: {
      status: 200,
      description: 'The messages',
      schema: resultOf({ messages: listOf('ConversationMessage') }),
    },
    handle: (context, request) =>
      withSession(context, request, async (session) => {
        const { evaluation, continued } = request.query as {
          readonly evaluation?: string;
          readonly continued?: boolean;
        };
        if (session.summary?.source) return { messages: await messagesOf(session) };
        const messages = session.messages({ evaluationId: evaluation, continued });
        return { messages: await session.resolve(messages) };
      }),
  },
  {
    method: 'GET',
    path: '/sessions/:id/turns',
    name: 'getTurns',
    summary: 'The responses with their calls and results, of the main conversation unless an evaluation is named',
    query: { evaluation: EVALUATION },
    response: {
      status: 200,
      description: 'The turns, oldest first',
      schema: resultOf({ turns: listOf('ConversationTurn') }),
    },
    handle: (context, request) =>
      withSession(context, request, (session) => ({
        turns: session.turns(namedEvaluation(request)),
      })),
  },
  {
    method: 'GET',
    path: '/sessions/:id/evaluations',
    name: 'getEvaluations',
    summary: 'The evaluations of a session, oldest first',
    response: {
      status: 200,
      description: 'The evaluations',
      schema: resultOf({ evaluations: listOf('EvaluationInfo') }),
    },
    handle: (context, request) =>
      withSession(context, request, ({ state }) => ({
        evaluations: state.record.evaluations.items.map(evaluationInfo),
      })),
  },
  {
    method: 'GET',
    path: '/sessions/:id/queue',
    name: 'getQueue',
    summary: 'Queued inputs, in sending order',
    response: { status: 200, description: 'The inputs', schema: resultOf({ inputs: listOf('QueuedInput') }) },
    handle: (context, request) => withSession(context, request, (session) => ({ inputs: session.queue() })),
  },
  {
    method: 'GET',
    path: '/sessions/:id/calls',
    name: 'getCalls',
    summary: 'Open calls, with the arguments that they would run with',
    query: { evaluation: EVALUATION },
    response: {
      status: 200,
      description: 'The calls',
      schema: resultOf({ calls: listOf('CallState, with exactArguments') }),
    },
    handle: (context, request) =>
      withSession(context, request, async (session) => {
        const calls = session.pending(namedEvaluation(request));
        return { calls: await Promise.all(calls.map((call) => withExactArguments(session, call))) };
      }),
  },
  {
    method: 'GET',
    path: '/sessions/:id/export',
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
    handle: (context, request) =>
      withSession(context, request, async (session) => {
        const {
          format = 'markdown',
          redact = false,
          title,
        } = request.query as {
          readonly format?: ExportFormat;
          readonly redact?: boolean;
          readonly title?: string;
        };
        const log: SessionEvent[] = [];
        for await (const event of session.events()) {
          log.push(event);
          await afterLongTurn();
        }
        const name = title ?? session.summary?.title ?? sessionIdOf(request);
        const { content, mediaType, extension } = exportConversation(log, { format, redact, title: name });
        return new Response(content, {
          headers: {
            'content-type': `${mediaType}; charset=utf-8`,
            'content-disposition': `attachment; filename="conversation.${extension}"`,
          },
        });
      }),
  },
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
  let state = createConversationState();
  for await (const item of session.events({ drafts: true })) {
    state = reduceConversationEvents(state, converter.push(item));
    await afterLongTurn();
  }
  return state;
}

/** An evaluation without its messages and calls. */
function evaluationInfo({ messages, calls, ...info }: Evaluation): object {
  return {
    ...info,
    messages: messages.length,
    openCalls: calls.filter(({ status }) => isWithoutResult(status)).length,
  };
}

function isWithoutResult(status: CallState['status']): boolean {
  return status === 'pending' || status === 'started';
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

/** The evaluation that a request names, as the option of a view. */
function namedEvaluation({ query }: RouteRequest): { readonly evaluationId: string | undefined } {
  return { evaluationId: query.evaluation as string | undefined };
}
