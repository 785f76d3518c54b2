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
import type { Session } from '../../session/session.ts';
import { type ForkRequest, forkAtBlock } from '../fork-at-block.ts';
import { HttpError } from '../http/http-error.ts';
import type { JsonSchema } from '../http/json-schema.ts';
import { given, invalid, type Route, route, sessionIdOf } from '../route.ts';
import { BY, bodyOf, COUNT, NAME, ok, TEXT } from './schemas.ts';

const INPUT: JsonSchema = { anyOf: [NAME, { type: 'array', items: { type: 'object' } }] };
const LIMIT: JsonSchema = { type: 'number', minimum: 0 };
const ACCEPTED = { ...ok('It is in the log; the process that runs the session obeys'), status: 202 };

/** Routes that change one session. Each appends to its log. */
export const ACTING_ROUTES: readonly Route[] = [
  route('POST /sessions/:id/inputs', {
    name: 'sendInput',
    summary: 'Sends an input; begins the session if there is none',
    body: {
      schema: bodyOf(
        { input: INPUT, id: NAME, mode: { type: 'string', enum: ['next', 'steer'] }, agent: NAME, by: BY },
        ['input'],
      ),
    },
    response: {
      ...ok(
        'The input as it is queued; the same id again returns the first',
        { id: TEXT, seq: COUNT, mode: TEXT, status: TEXT, waitsFor: TEXT },
        ['waitsFor'],
      ),
      status: 202,
    },
    errors: [409],
    begins: true,
    wakes: true,
    inSession: (session, { body }, { agents }) => {
      const { input, ...options } = body as { readonly input?: string | InputContent } & SendOptions;
      refuseUnknownAgent(agents, options.agent);
      return session.send(input ?? '', options);
    },
  }),
  route('DELETE /sessions/:id/inputs/:inputId', {
    name: 'withdrawInput',
    summary: 'Takes a queued input back',
    response: ok('withdrawn is false when the input was placed already', { withdrawn: { type: 'boolean' } }),
    inSession: async (session, { params }) => ({ withdrawn: await session.withdraw(params.inputId ?? '') }),
  }),
  route('POST /sessions/:id/cancel', {
    name: 'cancel',
    summary: 'Stops an evaluation; the newest open one unless one is named',
    body: { schema: bodyOf({ evaluationId: NAME, reason: TEXT, by: BY }), isOptional: true },
    response: ACCEPTED,
    wakes: true,
    inSession: (session, { body }) => session.cancel(body as CancelOptions),
  }),
  route('POST /sessions/:id/stop', {
    name: 'stop',
    summary: 'The stop button of a chat: withdraws what is queued and cancels what runs',
    body: { schema: bodyOf({ by: BY }), isOptional: true },
    response: {
      ...ok('What was stopped', { cancelled: { type: 'boolean' }, withdrawn: { type: 'array', items: TEXT } }),
      status: 202,
    },
    wakes: true,
    inSession: (session, { body }) => session.stop(body as DecisionOptions),
  }),
  route('POST /sessions/:id/resume', {
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
    wakes: true,
    inSession: (session, { body }) => session.resume(body as ResumeOptions),
  }),
  route('POST /sessions/:id/abandon', {
    name: 'abandon',
    summary: 'Gives up an evaluation that is suspended or has failed',
    body: { schema: bodyOf({ evaluationId: NAME, reason: TEXT, by: BY }), isOptional: true },
    response: ok('It is abandoned'),
    errors: [409],
    wakes: true,
    inSession: (session, { body }) => session.abandon(body as AbandonOptions),
  }),
  decision(
    'approve',
    'Lets a call run, with other arguments if some are given',
    { note: TEXT, arguments: {} },
    (session, call, options) => session.approve(call, options as ApproveOptions),
  ),
  decision('deny', 'Denies a call; the model receives the reason', { reason: TEXT }, (session, call, options) =>
    session.deny(call, options as DenyOptions),
  ),
  decision(
    'settle',
    'Settles a call whose outcome is unknown: its result, or that it may run again',
    { result: {}, isError: { type: 'boolean' }, rerun: { type: 'boolean' } },
    (session, call, { by, ...how }: DecisionOptions) => session.settle(call, how as Settlement, given({ by })),
  ),
  route('POST /sessions/:id/fork', {
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
    response: { ...ok('The new session', { id: TEXT, seq: COUNT }), status: 201 },
    errors: [409],
    inSession: async (session, { body }, { runners }) => {
      const fork = await forkAtBlock(session, body as ForkRequest);
      runners?.wake(fork.id);
      return fork;
    },
  }),
  route('PATCH /sessions/:id', {
    name: 'describeSession',
    summary: 'Sets title and tags, merges metadata; begins the session if there is none',
    body: {
      schema: bodyOf({ title: TEXT, tags: { type: 'array', items: TEXT }, metadata: { type: 'object' } }),
    },
    response: ok('The summary', { summary: { type: 'object' } }),
    begins: true,
    inSession: async (session, { body }) => {
      if (Object.keys(body).length === 0) throw invalid('give a title, tags or metadata');
      await session.describe(body);
      return { summary: session.summary };
    },
  }),
  route('DELETE /sessions/:id/messages/:messageId', {
    name: 'eraseMessage',
    summary: 'Removes the content of a message; its place stays',
    body: { schema: bodyOf({ reason: TEXT }), isOptional: true },
    response: ok('It is erased'),
    errors: [409],
    inSession: (session, { params, body }) =>
      session.eraseMessage(params.messageId ?? '', (body as { readonly reason?: string }).reason),
  }),
  route('DELETE /sessions/:id', {
    name: 'deleteSession',
    summary: 'Deletes a session and everything that belongs to it',
    response: ok('It is deleted'),
    handle: async ({ store }, request) => {
      const id = sessionIdOf(request);
      if (!(await store.deleteSession(id))) {
        throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${id}`);
      }
    },
  }),
  route('POST /sessions/:id/kill', {
    name: 'killAgent',
    summary: 'Sends SIGKILL to the process that runs the agent of a session',
    needs: 'processes',
    response: ok('The process that was killed', { pid: COUNT }),
    inSession: ({ id }, _, { processes }) => {
      const pid = processes?.kill(id);
      if (pid === undefined) throw new HttpError('NOT_RUNNING', 'no process runs the agent of this session now');
      return { pid };
    },
  }),
];

/** A route for what a person decides about a call: the body names the call, the rest of it goes to the session's method. */
function decision(
  name: 'approve' | 'deny' | 'settle',
  summary: string,
  fields: Readonly<Record<string, JsonSchema>>,
  decide: (session: Session, call: CallRef, rest: object) => Promise<void>,
): Route {
  const call = { evaluationId: NAME, turn: COUNT, callId: NAME, attempt: COUNT };
  return route(`POST /sessions/:id/calls/${name}`, {
    name: `${name}Call`,
    summary,
    body: { schema: bodyOf({ ...call, ...fields, by: BY }, ['evaluationId', 'turn', 'callId']) },
    response: ACCEPTED,
    errors: [409],
    wakes: true,
    inSession: (session, { body }) => {
      const { evaluationId, turn, callId, attempt, ...rest } = body;
      return decide(session, given({ evaluationId, turn, callId, attempt }) as unknown as CallRef, rest);
    },
  });
}
