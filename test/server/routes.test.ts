/** Every route: what it returns, by the OpenAPI document, and how it refuses. */
import { describe, expect, test } from 'vitest';
import { openSession } from '../../src/index.ts';
import { type JsonSchema, schemaProblem } from '../../src/server/http/json-schema.ts';
import { ROUTES } from '../../src/server/route-table.ts';
import type { AgentProcesses } from '../../src/server.ts';
import { collect } from '../session/log-of.ts';
import { codeOf, counting, refunding, type Served, serve, until } from './support.ts';

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >;
}
interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Fails unless a response is one that the document describes. */
async function described(served: Served, route: string, response: Response): Promise<Record<string, unknown>> {
  const { paths } = (await served.json('/openapi.json')) as unknown as OpenApi;
  const [method = '', path = ''] = route.split(' ');
  const operation = paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
  const description = operation?.responses[response.status];
  expect(description, `${route} returned ${response.status}`).toBeDefined();
  const body = (await response.json()) as Record<string, unknown>;
  expect(schemaProblem(body, description?.content?.['application/json']?.schema ?? {}), route).toBeUndefined();
  return body;
}

const settled = async (served: Served, id: string): Promise<void> =>
  until(async () => {
    const { summary, runner } = await served.json(`/sessions/${id}`);
    return (summary as { readonly work?: string }).work === undefined && runner === undefined;
  });

/** Gives a server every route. */
const processes: AgentProcesses = { list: () => [], kill: () => undefined };

test('the OpenAPI document describes exactly the routes that are registered', async () => {
  const served = await serve({ processes });
  const { openapi, paths } = (await served.json('/openapi.json')) as unknown as OpenApi;
  expect(openapi).toBe('3.1.0');
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const registered = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(documented.toSorted()).toEqual(registered.toSorted());
  expect(new Set(ROUTES.map(({ name }) => name)).size).toBe(ROUTES.length);
  for (const { method, path } of ROUTES) {
    const response = await served.send(method, path.replaceAll(/:\w+/g, 'x'), method === 'GET' ? undefined : {});
    expect(await response.text(), `${method} ${path}`).not.toContain('ROUTE_NOT_FOUND');
    for (const other of ['GET', 'POST', 'PATCH', 'DELETE', 'PUT']) {
      if (ROUTES.some((route) => route.path === path && route.method === other)) continue;
      const refused = await served.send(other, path.replaceAll(/:\w+/g, 'x'));
      expect(await codeOf(refused), `${other} ${path}`).toBe('405 METHOD_NOT_ALLOWED');
      expect(refused.headers.get('allow')).toContain(method);
    }
  }
  expect(await codeOf(await served.send('GET', '/nothing'))).toBe('404 ROUTE_NOT_FOUND');
});

/** Looks like a key of a provider. */
const KEY = `sk-ant-api03-${'a1B2'.repeat(12)}`;

describe('reading', () => {
  test('every route of a session returns what its description says', async () => {
    const served = await serve({ agents: refunding });
    const { send } = served;
    const sent = await send('POST', '/sessions/a/inputs', { input: 'Refund it.', id: 'm1', by: 'ada' });
    expect(await described(served, 'POST /sessions/:id/inputs', sent)).toMatchObject({ id: 'm1', status: 'queued' });
    await settled(served, 'a');
    await send('POST', '/sessions/a/inputs', { input: 'And this.', id: 'm2' });
    const get = async (route: string, query = ''): Promise<Record<string, unknown>> =>
      described(served, `GET ${route}`, await send('GET', route.replace(':id', 'a') + query));

    expect(await get('/sessions', '?status=suspended&idPrefix=a&limit=1')).toMatchObject({ sessions: [{ id: 'a' }] });
    expect(await get('/sessions', '?tag=x&tag=y')).toEqual({ sessions: [] });
    expect(await get('/search', '?q=Refund')).toMatchObject({ hits: [{ role: 'assistant' }, { role: 'user' }] });
    expect(await get('/sessions/:id')).toMatchObject({
      id: 'a',
      summary: { status: 'suspended' },
      pending: 1,
      queued: 1,
    });
    const { events, next } = await get('/sessions/:id/events', '?after=1&limit=2');
    expect(events).toMatchObject([{ seq: 2 }, { seq: 3 }]);
    expect(next).toBe('3');
    expect(await get('/sessions/:id/events', '?after=4.1.7&limit=1')).toMatchObject({ events: [{ seq: 5 }] });
    expect(await get('/sessions/:id/state')).toMatchObject({
      state: { blocks: [{ type: 'user_message', content: 'Refund it.' }, { type: 'tool_use' }, {}] },
    });
    expect(await get('/sessions/:id/messages')).toMatchObject({
      messages: [{ role: 'system' }, { role: 'user' }, { role: 'assistant' }],
    });
    expect(await get('/sessions/:id/turns')).toMatchObject({
      turns: [{ turnNumber: 1, calls: [{ name: 'refund', status: 'pending' }] }],
    });
    expect(await get('/sessions/:id/turns', '?evaluation=none')).toEqual({ turns: [] });
    expect(await get('/sessions/:id/evaluations')).toMatchObject({
      evaluations: [{ status: 'suspended', openCalls: 1, messages: 3 }],
    });
    expect(await get('/sessions/:id/queue')).toMatchObject({ inputs: [{ id: 'm2', waitsFor: 'APPROVAL_REQUIRED' }] });
    expect(await get('/sessions/:id/calls')).toMatchObject({
      calls: [{ name: 'refund', exactArguments: '{"euros":80}' }],
    });
    expect(await get('/sessions/:id/ui-messages')).toMatchObject({
      messages: [{ id: 'm1' }, { role: 'assistant' }, { id: 'm2' }],
    });
  });

  test('pages of sessions and events are complete and without repetition', async () => {
    const served = await serve();
    for (let i = 0; i < 7; i++) await served.send('PATCH', `/sessions/s${i}`, { title: `T${i}`, metadata: { i } });
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await served.json(`/sessions?limit=3${query}`)) as { sessions: { id: string }[]; next?: string };
      seen.push(...page.sessions.map(({ id }) => id));
      if (page.next === undefined) break;
      cursor = page.next;
    }
    expect(seen.toSorted()).toEqual(['s0', 's1', 's2', 's3', 's4', 's5', 's6']);
    expect(await served.json(`/sessions?metadata=${encodeURIComponent('{"i":4}')}`)).toMatchObject({
      sessions: [{ id: 's4' }],
    });
  });

  test.for(['markdown', 'html', 'json', 'jsonl', 'openai', 'anthropic', 'ai-sdk'])(
    'an export as %s is a download',
    async (format) => {
      const served = await serve({ agents: counting });
      await served.send('POST', '/sessions/a/inputs', { input: `My key is ${KEY}` });
      await settled(served, 'a');
      const response = await served.send('GET', `/sessions/a/export?format=${format}&redact=true`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="conversation\.\w+"$/);
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
      const text = await response.text();
      expect(text).toContain('I have read');
      expect(text).not.toContain(KEY);
    },
  );
});

describe('acting', () => {
  test('a call is approved with other arguments, denied, or settled', async () => {
    const served = await serve({ agents: refunding });
    const call = async (): Promise<Record<string, unknown>> => {
      await settled(served, 'a');
      const { calls } = (await served.json('/sessions/a/calls')) as { calls: Record<string, unknown>[] };
      const { evaluationId, turn, callId } = calls[0] ?? {};
      return { evaluationId, turn, callId };
    };
    await served.send('POST', '/sessions/a/inputs', { input: 'One.' });
    const first = await call();
    const approved = await served.send('POST', '/sessions/a/calls/approve', {
      ...first,
      by: 'ada',
      arguments: { euros: 8 },
    });
    expect(await described(served, 'POST /sessions/:id/calls/approve', approved)).toEqual({});
    await settled(served, 'a');
    expect(JSON.stringify(await served.json('/sessions/a/messages'))).toContain('refunded 8');
    await served.send('POST', '/sessions/a/inputs', { input: 'Two.' });
    const denied = await served.send('POST', '/sessions/a/calls/deny', { ...(await call()), reason: 'too much' });
    await described(served, 'POST /sessions/:id/calls/deny', denied);
    await settled(served, 'a');
    expect(JSON.stringify(await served.json('/sessions/a/messages'))).toContain('too much');

    await served.send('POST', '/sessions/a/inputs', { input: 'Three.' });
    const third = await call();
    for (const how of [{}, { result: 1, rerun: true }, { rerun: false }, { rerun: true, isError: true }]) {
      expect(await codeOf(await served.send('POST', '/sessions/a/calls/settle', { ...third, ...how }))).toBe(
        '400 INVALID_ARGUMENT',
      );
    }
    const how = { result: 'the bank did it', by: 'ada' };
    const settlement = await served.send('POST', '/sessions/a/calls/settle', { ...third, ...how });
    await described(served, 'POST /sessions/:id/calls/settle', settlement);
    await settled(served, 'a');
    expect(JSON.stringify(await served.json('/sessions/a/messages'))).toContain('the bank did it');
    const session = await openSession({ store: served.store, id: 'a' });
    expect(await collect(session.events({ types: ['tool/settled'] }))).toMatchObject([{ by: 'ada' }]);
  });

  test('a decision that another page has made first is 409, at every later moment; a call that never was is 404', async () => {
    const reader = await serve();
    await reader.send('PATCH', '/sessions/a', { title: 'a' });
    const first = await serve({ store: reader.store, agents: refunding });
    await first.send('POST', '/sessions/a/inputs', { input: 'One.' });
    await settled(first, 'a');
    await first.server.close();
    const { calls } = (await reader.json('/sessions/a/calls')) as { calls: Record<string, unknown>[] };
    const { evaluationId, turn, callId, attempt } = calls[0] ?? {};
    const ref = { evaluationId, turn, callId, attempt };
    const late = async (): Promise<readonly string[]> => [
      await codeOf(await reader.send('POST', '/sessions/a/calls/approve', ref)),
      await codeOf(await reader.send('POST', '/sessions/a/calls/deny', ref)),
    ];
    const decided = ['409 CALL_DECIDED', '409 CALL_DECIDED'];
    // Decided, and not run yet: no server runs anything.
    expect((await reader.send('POST', '/sessions/a/calls/approve', { ...ref, by: 'ada' })).status).toBe(202);
    expect(await late()).toEqual(decided);
    const again = await reader.send('POST', '/sessions/a/calls/approve', ref);
    expect(await again.json()).toMatchObject({
      error: { message: expect.stringContaining('approved by ada already') },
    });
    // Run, with its result in the log.
    await serve({ store: reader.store, agents: refunding });
    await until(async () => JSON.stringify(await reader.json('/sessions/a/messages')).includes('refunded 80'));
    expect(await late()).toEqual(['409 TOOL_CALL_NOT_FOUND', '409 TOOL_CALL_NOT_FOUND']);
    expect(await codeOf(await reader.send('POST', '/sessions/a/calls/settle', { ...ref, result: 'late' }))).toBe(
      '409 TOOL_CALL_NOT_FOUND',
    );
    for (const wrong of [{ callId: 'none' }, { turn: 9 }, { evaluationId: 'none' }]) {
      expect(await codeOf(await reader.send('POST', '/sessions/a/calls/approve', { ...ref, ...wrong }))).toBe(
        '404 TOOL_CALL_NOT_FOUND',
      );
    }
  });

  test('inputs are sent once, withdrawn, stopped; sessions are described, forked, erased, deleted', async () => {
    const served = await serve();
    const { send } = served;
    for (let i = 0; i < 2; i++) await send('POST', '/sessions/a/inputs', { input: 'Hello', id: 'm1', mode: 'next' });
    expect(await codeOf(await send('POST', '/sessions/a/inputs', { input: 'Other', id: 'm1' }))).toBe('409 KEY_REUSED');
    await send('POST', '/sessions/a/inputs', { input: [{ type: 'text', text: 'parts' }], id: 'm/2' });
    const withdrawn = await send('DELETE', '/sessions/a/inputs/m%2F2');
    expect(await described(served, 'DELETE /sessions/:id/inputs/:inputId', withdrawn)).toEqual({ withdrawn: true });
    expect(await codeOf(await send('DELETE', '/sessions/a/inputs/none'))).toBe('404 INPUT_NOT_FOUND');
    const stopped = await send('POST', '/sessions/a/stop');
    expect(await described(served, 'POST /sessions/:id/stop', stopped)).toEqual({
      cancelled: false,
      withdrawn: ['m1'],
    });
    for (const route of ['cancel', 'resume', 'abandon']) {
      expect(await codeOf(await send('POST', `/sessions/a/${route}`, {}))).toBe('404 CONVERSATION_NOT_FOUND');
    }
    const patched = await send('PATCH', '/sessions/a', { title: 'T', tags: ['x'], metadata: { k: 1 } });
    expect(await described(served, 'PATCH /sessions/:id', patched)).toMatchObject({
      summary: { title: 'T', tags: ['x'] },
    });
    expect(await codeOf(await send('PATCH', '/sessions/a', {}))).toBe('400 INVALID_ARGUMENT');
    const forked = await send('POST', '/sessions/a/fork', { id: 'b', at: 1 });
    expect(await described(served, 'POST /sessions/:id/fork', forked)).toEqual({ id: 'b', seq: 2 });
    expect(await codeOf(await send('POST', '/sessions/a/fork', { id: 'b' }))).toBe('409 SESSION_CONFLICT');
    expect(await codeOf(await send('DELETE', '/sessions/a/messages/none', { reason: 'r' }))).toBe(
      '404 CONVERSATION_NOT_FOUND',
    );
    await described(served, 'DELETE /sessions/:id', await send('DELETE', '/sessions/a'));
    expect(await codeOf(await send('DELETE', '/sessions/a'))).toBe('404 SESSION_NOT_FOUND');
    expect(await codeOf(await send('GET', '/sessions/a'))).toBe('404 SESSION_NOT_FOUND');
    await send('POST', '/sessions/a/inputs', { input: 'A new life' });
    expect(await served.json('/sessions/a')).toMatchObject({ seq: 1, cursor: '2:1' });
  });

  test('an evaluation is cancelled, resumed, abandoned; a message is erased', async () => {
    const served = await serve({ agents: refunding });
    await served.send('POST', '/sessions/a/inputs', { input: 'Refund.', id: 'm1' });
    await settled(served, 'a');
    await described(
      served,
      'POST /sessions/:id/cancel',
      await served.send('POST', '/sessions/a/cancel', { reason: 'no' }),
    );
    await settled(served, 'a');
    await described(
      served,
      'POST /sessions/:id/resume',
      await served.send('POST', '/sessions/a/resume', { raise: { maxTurns: 5 } }),
    );
    await settled(served, 'a');
    await described(
      served,
      'POST /sessions/:id/abandon',
      await served.send('POST', '/sessions/a/abandon', { by: 'ada' }),
    );
    expect(await served.json('/sessions/a')).toMatchObject({ summary: { status: 'superseded' } });
    const { messages } = (await served.json('/sessions/a/messages')) as { messages: { id: string; role: string }[] };
    const said = messages.find(({ role }) => role === 'user')?.id ?? '';
    const erased = await served.send('DELETE', `/sessions/a/messages/${encodeURIComponent(said)}`);
    await described(served, 'DELETE /sessions/:id/messages/:messageId', erased);
    expect(JSON.stringify(await served.json('/sessions/a/state'))).not.toContain('Refund.');
  });
});

describe('errors', () => {
  const SESSION_ROUTES = ROUTES.filter(({ path }) => path.includes(':id'));
  const BEGIN = new Set(['sendInput', 'describeSession', 'postUiMessage', 'getUiMessages', 'streamUiMessage']);
  /** A valid body for each route that needs one. */
  const BODIES: Readonly<Record<string, object>> = {
    approveCall: { evaluationId: 'e', turn: 1, callId: 'c' },
    denyCall: { evaluationId: 'e', turn: 1, callId: 'c' },
    settleCall: { evaluationId: 'e', turn: 1, callId: 'c', result: 1 },
  };
  /** The parameters that a route needs. */
  const QUERIES: Readonly<Record<string, string>> = {
    getBlockText: '?path=content',
    replayHistory: `?strategy=${encodeURIComponent('{"steps":[{"manager":"passthrough"}]}')}`,
  };
  const pathOf = (path: string): string => path.replaceAll(/:\w+/g, 'none');

  test.for(SESSION_ROUTES.filter(({ name }) => !BEGIN.has(name)))(
    '$method $path of no session is 404',
    async ({ method, path, name }) => {
      const served = await serve({ processes });
      expect(await codeOf(await served.send(method, pathOf(path) + (QUERIES[name] ?? ''), BODIES[name]))).toBe(
        '404 SESSION_NOT_FOUND',
      );
      expect(await served.json('/sessions')).toEqual({ sessions: [] });
    },
  );

  test.for(ROUTES)('$method $path refuses unknown parameters', async ({ method, path, name }) => {
    const served = await serve({ processes });
    expect(await codeOf(await served.send(method, `${pathOf(path)}?nonsense=1`, BODIES[name]))).toBe(
      '400 INVALID_ARGUMENT',
    );
  });

  test.for(ROUTES.filter(({ body }) => body))('$method $path refuses bad bodies', async ({ method, path }) => {
    const served = await serve({ processes, maxBodyBytes: 1000 });
    const send = async (body: unknown, headers?: Record<string, string>): Promise<string> =>
      codeOf(await served.send(method, pathOf(path), body, headers));
    expect(await send('{"input":')).toBe('400 INVALID_ARGUMENT');
    for (const body of [
      '[]',
      '"text"',
      '1',
      'null',
      '{"message":1,"evaluationId":1,"title":1,"id":1,"by":1,"reason":1}',
    ]) {
      expect(await send(body), body).toBe('400 INVALID_ARGUMENT');
    }
    expect(await send('x'.repeat(2000))).toBe('413 BODY_TOO_LARGE');
    expect(await send('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).toBe(
      '415 MEDIA_TYPE_UNSUPPORTED',
    );
    expect(await send('{}', { 'content-type': 'text/plain' })).toBe('415 MEDIA_TYPE_UNSUPPORTED');
  });

  test.for([
    '/sessions?limit=0',
    '/sessions?limit=1.5',
    '/sessions?limit=99999',
    '/sessions?status=odd',
    '/sessions?work=maybe',
    '/sessions?metadata=[1]',
    '/sessions?metadata={',
    '/sessions?cursor=nonsense',
    '/sessions?status=failed&status=running',
    '/search',
    '/sessions/a/events?after=-1',
    '/sessions/a/events?limit=1e3',
    '/sessions/a/export?format=pdf',
    '/sessions/a/stream?after=nonsense',
    '/sessions/a/stream?after=1.2',
  ])('GET %s is INVALID_ARGUMENT', async (path) => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    expect(await codeOf(await served.send('GET', path))).toBe('400 INVALID_ARGUMENT');
  });

  test('unknown fields of a body are refused, and the message names the known ones', async () => {
    const served = await serve();
    const response = await served.send('POST', '/sessions/a/inputs', { input: 'x', mod: 'steer' });
    const message = expect.stringContaining('"mod"; there are: input, id, mode, agent, by');
    expect(await response.json()).toEqual({ error: { code: 'INVALID_ARGUMENT', message } });
  });

  test('a failure of the store is 500 without its message, and is reported', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    served.store.listSessions = () => Promise.reject(new Error('/secret/path is broken'));
    const response = await served.send('GET', '/sessions');
    expect(await response.text()).not.toContain('secret');
    expect(response.status).toBe(500);
    expect(served.errors).toMatchObject([{ message: '/secret/path is broken' }]);
  });

  test('a closed store is 503', async () => {
    const served = await serve();
    await served.store.close();
    expect(await codeOf(await served.send('GET', '/sessions'))).toBe('503 SESSION_CLOSED');
  });

  test('a session that its server opened with redact records redacted inputs', async () => {
    const served = await serve({
      session: { redact: (event) => JSON.parse(JSON.stringify(event).replaceAll('secret', '***')) },
    });
    await served.send('POST', '/sessions/a/inputs', { input: 'the secret' });
    const session = await openSession({ store: served.store, id: 'a' });
    expect(JSON.stringify(await collect(session.events()))).toContain('the ***');
  });
});
