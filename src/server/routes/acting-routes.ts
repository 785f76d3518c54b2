import { HoldfastError } from '../../core/errors.ts';
import type { InputContent, Settlement } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import type {
  AbandonOptions,
  ApproveOptions,
  CancelOptions,
  DecisionOptions,
  DenyOptions,
  ResumeOptions,
} from '../../core/views/session-decisions.ts';
import { refuseUnknownAgent } from '../../loop/agent/choose-agent.ts';
import type { SendOptions } from '../../session/append/send-input.ts';
import { type ForkRequest, forkAtBlock } from '../fork-at-block.ts';
import type { JsonSchema } from '../http/json-schema.ts';
import { actOn, given, type Route, type RouteRequest, type ServerContext, sessionIdOf, withSession } from '../route.ts';
import { BY, bodyOf, COUNT, DONE, NAME, resultOf, TEXT } from './schemas.ts';

const CALL: Readonly<Record<string, JsonSchema>> = {
  evaluationId: NAME,
  turn: COUNT,
  callId: NAME,
  attempt: COUNT,
};
const CALL_FIELDS = ['evaluationId', 'turn', 'callId'] as const;
const INPUT: JsonSchema = { anyOf: [NAME, { type: 'array', items: { type: 'object' } }] };
const LIMIT: JsonSchema = { type: 'number', minimum: 0 };

const ACCEPTED = {
  status: 202,
  description: 'It is in the log; the process that runs the session obeys',
  schema: DONE,
} as const;

/** Routes that change one session. Each appends to its log. */
export const ACTING_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/sessions/:id/inputs',
    name: 'sendInput',
    summary: 'Sends an input; begins the session if there is none',
    body: {
      schema: bodyOf(
        { input: INPUT, id: NAME, mode: { type: 'string', enum: ['next', 'steer'] }, agent: NAME, by: BY },
        ['input'],
      ),
    },
    response: {
      status: 202,
      description: 'The input as it is queued; the same id again returns the first',
      schema: resultOf({ id: TEXT, seq: COUNT, mode: TEXT, status: TEXT, waitsFor: TEXT }, ['waitsFor']),
    },
    errors: [409],
    handle: (context, request) => {
      const { input, ...options } = request.body;
      refuseUnknownAgent(context.agents, options.agent as string | undefined);
      return actOn(
        context,
        request,
        (session) => session.send(input as string | InputContent, options as SendOptions),
        {
          begin: true,
        },
      );
    },
  },
  {
    method: 'DELETE',
    path: '/sessions/:id/inputs/:inputId',
    name: 'withdrawInput',
    summary: 'Takes a queued input back',
    response: {
      status: 200,
      description: 'withdrawn is false when the input was placed already',
      schema: resultOf({ withdrawn: { type: 'boolean' } }),
    },
    handle: (context, request) =>
      withSession(context, request, async (session) => ({
        withdrawn: await session.withdraw(request.params.inputId ?? ''),
      })),
  },
  {
    method: 'POST',
    path: '/sessions/:id/cancel',
    name: 'cancel',
    summary: 'Stops an evaluation; the newest open one unless one is named',
    body: { schema: bodyOf({ evaluationId: NAME, reason: TEXT, by: BY }), isOptional: true },
    response: ACCEPTED,
    handle: (context, request) =>
      actOn(context, request, (session) => done(session.cancel(request.body as CancelOptions))),
  },
  {
    method: 'POST',
    path: '/sessions/:id/stop',
    name: 'stop',
    summary: 'The stop button of a chat: withdraws what is queued and cancels what runs',
    body: { schema: bodyOf({ by: BY }), isOptional: true },
    response: {
      status: 202,
      description: 'What was stopped',
      schema: resultOf({ cancelled: { type: 'boolean' }, withdrawn: { type: 'array', items: TEXT } }),
    },
    handle: (context, request) => actOn(context, request, (session) => session.stop(request.body as DecisionOptions)),
  },
  {
    method: 'POST',
    path: '/sessions/:id/resume',
    name: 'resume',
    summary:
      'Continues a suspended evaluation, with higher limits if some are given, or a session that workers gave up on',
    body: {
      schema: bodyOf({
        evaluationId: NAME,
        raise: bodyOf({
          budget: bodyOf({ maxTokens: LIMIT, maxInputTokens: LIMIT, maxOutputTokens: LIMIT, maxCostUsd: LIMIT }),
          maxTurns: COUNT,
        }),
        by: BY,
      }),
      isOptional: true,
    },
    response: ACCEPTED,
    handle: (context, request) =>
      actOn(context, request, (session) => done(session.resume(request.body as ResumeOptions))),
  },
  {
    method: 'POST',
    path: '/sessions/:id/abandon',
    name: 'abandon',
    summary: 'Gives up an evaluation that is suspended or has failed',
    body: { schema: bodyOf({ evaluationId: NAME, reason: TEXT, by: BY }), isOptional: true },
    response: { status: 200, description: 'It is abandoned', schema: DONE },
    errors: [409],
    handle: (context, request) =>
      actOn(context, request, (session) => done(session.abandon(request.body as AbandonOptions))),
  },
  {
    method: 'POST',
    path: '/sessions/:id/calls/approve',
    name: 'approveCall',
    summary: 'Lets a call run, with other arguments if some are given',
    body: { schema: bodyOf({ ...CALL, by: BY, note: TEXT, arguments: {} }, CALL_FIELDS) },
    response: ACCEPTED,
    errors: [409],
    handle: (context, request) =>
      actOn(context, request, (session) => {
        const { call, rest } = splitCall(request.body);
        return done(session.approve(call, rest as ApproveOptions));
      }),
  },
  {
    method: 'POST',
    path: '/sessions/:id/calls/deny',
    name: 'denyCall',
    summary: 'Denies a call; the model receives the reason',
    body: { schema: bodyOf({ ...CALL, reason: TEXT, by: BY }, CALL_FIELDS) },
    response: ACCEPTED,
    errors: [409],
    handle: (context, request) =>
      actOn(context, request, (session) => {
        const { call, rest } = splitCall(request.body);
        return done(session.deny(call, rest as DenyOptions));
      }),
  },
  {
    method: 'POST',
    path: '/sessions/:id/calls/settle',
    name: 'settleCall',
    summary: 'Settles a call whose outcome is unknown: its result, or that it may run again',
    body: {
      schema: bodyOf(
        { ...CALL, result: {}, isError: { type: 'boolean' }, rerun: { type: 'boolean' }, by: BY },
        CALL_FIELDS,
      ),
    },
    response: ACCEPTED,
    errors: [409],
    handle: (context, request) =>
      actOn(context, request, (session) => {
        const { call, rest } = splitCall(request.body);
        const { by, ...how } = rest as DecisionOptions;
        return done(session.settle(call, how as Settlement, given({ by })));
      }),
  },
  {
    method: 'POST',
    path: '/sessions/:id/fork',
    name: 'forkSession',
    summary:
      'Copies a session, up to an event or a block if one is named, and sends an input to the copy if one is given',
    body: {
      schema: bodyOf({
        ...{ id: NAME, at: { type: 'integer', minimum: 1 }, block: NAME, before: { type: 'boolean' } },
        ...{ input: INPUT, title: TEXT, metadata: { type: 'object' }, by: BY },
      }),
      isOptional: true,
    },
    response: { status: 201, description: 'The new session', schema: resultOf({ id: TEXT, seq: COUNT }) },
    errors: [409],
    handle: (context, request) =>
      withSession(context, request, async (session) => {
        const fork = await forkAtBlock(session, request.body as ForkRequest);
        context.runners?.wake(fork.id);
        return fork;
      }),
  },
  {
    method: 'PATCH',
    path: '/sessions/:id',
    name: 'describeSession',
    summary: 'Sets title and tags, merges metadata; begins the session if there is none',
    body: {
      schema: bodyOf({ title: TEXT, tags: { type: 'array', items: TEXT }, metadata: { type: 'object' } }),
    },
    response: { status: 200, description: 'The summary', schema: resultOf({ summary: { type: 'object' } }) },
    handle: (context, request) =>
      withSession(
        context,
        request,
        async (session) => {
          if (Object.keys(request.body).length === 0) throw invalid('give a title, tags or metadata');
          await session.describe(request.body);
          return { summary: session.summary };
        },
        { begin: true },
      ),
  },
  {
    method: 'DELETE',
    path: '/sessions/:id/messages/:messageId',
    name: 'eraseMessage',
    summary: 'Removes the content of a message; its place stays',
    body: { schema: bodyOf({ reason: TEXT }), isOptional: true },
    response: { status: 200, description: 'It is erased', schema: DONE },
    errors: [409],
    handle: (context, request) =>
      withSession(context, request, (session) => {
        const { reason } = request.body as { readonly reason?: string };
        return done(session.eraseMessage(request.params.messageId ?? '', reason));
      }),
  },
  {
    method: 'DELETE',
    path: '/sessions/:id',
    name: 'deleteSession',
    summary: 'Deletes a session and everything that belongs to it',
    response: { status: 200, description: 'It is deleted', schema: DONE },
    handle: deleteSession,
  },
];

async function deleteSession({ store }: ServerContext, request: RouteRequest): Promise<object> {
  const id = sessionIdOf(request);
  if (await store.deleteSession(id)) return {};
  throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${id}`);
}

/** The call that a body names, and the rest of the body. */
function splitCall(body: Readonly<Record<string, unknown>>): { readonly call: CallRef; readonly rest: object } {
  const { evaluationId, turn, callId, attempt, ...rest } = body;
  return { call: given({ evaluationId, turn, callId, attempt }) as unknown as CallRef, rest };
}

async function done(act: Promise<void>): Promise<object> {
  await act;
  return {};
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}
