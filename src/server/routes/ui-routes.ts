/** Routes for the AI SDK's `useChat`: the conversation as UI messages, and its responses as UI message streams. */

import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { UiChunk } from '../../interop/ui-chunks.ts';
import { readUiPost, type UiDecision } from '../../interop/ui-input.ts';
import { UiMessageStream, type UiMessageStreamOptions } from '../../interop/ui-message-stream.ts';
import { shownUiMessages } from '../../interop/ui-messages.ts';
import type { AnySession } from '../../session/session.ts';
import { refusalOf } from '../http/http-error.ts';
import { actOn, type Route, type RouteRequest, type ServerContext, withSession } from '../route.ts';
import { listOf, NAME, resultOf } from './schemas.ts';
import { stateOf } from './session-routes.ts';
import { streamOf } from './stream-route.ts';

const UI_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' } as const;
const STREAM = { status: 200, description: 'Chunks of one UI message', mediaType: 'text/event-stream' } as const;

/** A chat that has not begun is an empty one: a page opens it before its first message is sent. */
const NEW_CHAT = { begin: true } as const;

export const UI_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions/:id/ui-messages',
    name: 'getUiMessages',
    summary: 'The conversation as UI messages, without a response that is being made',
    response: {
      status: 200,
      description: 'The messages for useChat',
      schema: resultOf({ messages: listOf('UIMessage') }),
    },
    handle: (context, request) =>
      withSession(
        context,
        request,
        async (session) => ({ messages: shownUiMessages(session, await stateOf(session)) }),
        NEW_CHAT,
      ),
  },
  {
    method: 'POST',
    path: '/sessions/:id/ui-messages',
    name: 'postUiMessage',
    summary: 'Sends the last UI message and streams the response to it; begins the session if there is none',
    body: {
      // `useChat` posts further fields, and those of the application.
      schema: {
        type: 'object',
        properties: {
          message: { type: 'object', description: 'the message of the user; or messages, of which the last counts' },
          messages: { type: 'array', items: { type: 'object' } },
          id: NAME,
          trigger: { type: 'string', enum: ['submit-message', 'regenerate-message'] },
        },
      },
    },
    response: STREAM,
    errors: [503],
    handle: postMessage,
  },
  {
    method: 'GET',
    path: '/sessions/:id/ui-messages/stream',
    name: 'streamUiMessage',
    summary: 'The response that is being made, from its start',
    query: {
      message: {
        type: 'string',
        description: 'the id of the last message that the client has: streams the response to it, also a finished one',
      },
    },
    response: STREAM,
    noContent: 'No response is being made',
    errors: [503],
    isStream: true,
    handle: reconnect,
  },
];

async function postMessage(context: ServerContext, request: RouteRequest): Promise<Response> {
  const post = readUiPost(request.body);
  context.streams.assertRoom();
  if (post.kind === 'input') {
    const sent = await actOn(context, request, (session) => session.send(post.content, { id: post.id }), {
      begin: true,
    });
    return openUiStream(context, request, (session) => {
      if (sent.waitsFor) return `the message is queued: the conversation waits (${sent.waitsFor})`;
      return streamOfInput(session, post.id);
    });
  }
  const known = await actOn(context, request, (session) => decide(session, post.messageId, post.decisions));
  return openUiStream(context, request, () => known);
}

/** Approves and denies the calls of an assistant message; returns the stream of what follows. */
async function decide(
  session: AnySession,
  evaluationId: string,
  decisions: readonly UiDecision[],
): Promise<UiMessageStreamOptions> {
  const { seq } = session;
  const calls = new Map(session.pending({ evaluationId }).map((call) => [callName(call), call]));
  for (const { approvalId, isApproved, reason } of decisions) {
    const call = calls.get(approvalId);
    // A message that was decided before is posted whole with later decisions.
    if (!call || call.approval) continue;
    if (isApproved) await session.approve(call, reason === undefined ? {} : { note: reason });
    else await session.deny(call, reason === undefined ? {} : { reason });
  }
  if (!session.state.record.evaluations.get(evaluationId)) {
    throw new HoldfastError('CONVERSATION_NOT_FOUND', `session ${session.id} has no evaluation ${evaluationId}`);
  }
  return { evaluationId, knownSeq: seq, resumedSeq: seq };
}

function callName({ evaluationId, turn, callId }: { evaluationId: string; turn: number; callId: string }): string {
  return `${evaluationId}/${turn}/${callId}`;
}

async function reconnect(context: ServerContext, request: RouteRequest): Promise<Response> {
  const { message } = request.query as { readonly message?: string };
  const options = await withSession(
    context,
    request,
    (session) => (message === undefined ? runningStream(session) : streamAfter(session, message)),
    NEW_CHAT,
  );
  if (!options) return new Response(null, { status: 204 });
  return openUiStream(context, request, () => options);
}

/** The response that is being made, or the one to the first input that waits for a runner. */
function runningStream(session: AnySession): UiMessageStreamOptions | undefined {
  const newest = session.state.record.evaluations.items.toArray().findLast(isMain);
  if (newest?.status === 'running') return streamOfEvaluation(session, newest);
  const next = session.queue().find(({ waitsFor }) => waitsFor === undefined);
  return next && { inputId: next.id };
}

/** What follows a message: the response to one of the user, the rest of one of the assistant. */
function streamAfter(session: AnySession, messageId: string): UiMessageStreamOptions | undefined {
  const { record } = session.state;
  const input = record.inbox.items.get(messageId);
  if (input) return input.status === 'withdrawn' ? undefined : streamOfInput(session, messageId);
  const message = record.messages.find(({ id, role }) => id === messageId && role === 'user');
  const evaluation = record.evaluations.get(message?.evaluationId ?? messageId);
  if (!evaluation || (!message && evaluation.status !== 'running')) return undefined;
  return streamOfEvaluation(session, evaluation);
}

function streamOfInput(session: AnySession, inputId: string): UiMessageStreamOptions {
  const { record } = session.state;
  const placed = record.inbox.items.get(inputId)?.placed;
  const evaluation = placed && record.evaluations.get(placed.evaluationId);
  return evaluation ? streamOfEvaluation(session, evaluation) : { inputId };
}

function streamOfEvaluation(session: AnySession, evaluation: Evaluation): UiMessageStreamOptions {
  const { id: evaluationId, status, suspendedSeq } = evaluation;
  const resumedSeq =
    status === 'running' ? session.seq : status === 'suspended' ? (suspendedSeq ?? 1) - 1 : Number.MAX_SAFE_INTEGER;
  return { evaluationId, resumedSeq };
}

function isMain({ conversationId }: Evaluation): boolean {
  return conversationId === 'main';
}

/** Streams a message; `choose` may return a reason why there is none. */
function openUiStream(
  context: ServerContext,
  request: RouteRequest,
  choose: (session: AnySession) => UiMessageStreamOptions | string,
): Promise<Response> {
  const messages = (session: AnySession, signal: AbortSignal) => uiMessages(session, choose(session), signal);
  const lastMessage = (error: unknown): string => {
    const { message } = refusalOf(error).body.error;
    return `${chunkText({ type: 'error', errorText: message || messageOf(error) })}${DONE}`;
  };
  return streamOf(context, request, true, messages, UI_HEADERS, lastMessage);
}

async function* uiMessages(
  session: AnySession,
  options: UiMessageStreamOptions | string,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  if (typeof options === 'string') {
    yield chunkText({ type: 'error', errorText: options });
    yield DONE;
    return;
  }
  const stream = new UiMessageStream(options);
  for await (const item of session.events({ live: true, drafts: true, from: firstSeq(session, options), signal })) {
    const chunks = stream.push(item);
    if (chunks.length > 0) yield chunks.map(chunkText).join('');
    if (!stream.isDone) continue;
    yield DONE;
    return;
  }
}

/** Where the tail of a message starts: its evaluation, or its input. */
function firstSeq(session: AnySession, { evaluationId, inputId }: UiMessageStreamOptions): number {
  const { record } = session.state;
  const evaluation = evaluationId === undefined ? undefined : record.evaluations.get(evaluationId);
  const input = inputId === undefined ? undefined : record.inbox.items.get(inputId);
  return Math.max(1, evaluation?.startedSeq ?? input?.seq ?? 1);
}

const DONE = 'data: [DONE]\n\n';

function chunkText(chunk: UiChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
