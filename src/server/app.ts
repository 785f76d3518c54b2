import { Hono } from 'hono';
import { HoldfastError } from '../core/errors.ts';
import { HttpError, isFailure, refusalOf } from './http/http-error.ts';
import { jsonResponse } from './http/json-response.ts';
import { checkBody, type Route, readQuery, type ServerContext } from './route.ts';
import { routesOf } from './route-table.ts';

/** Handles requests that passed the checks of access. */
export type App = (request: Request) => Response | Promise<Response>;

/** The routes as an app. A path that exists with other methods is 405, any other 404. */
export function createApp(context: ServerContext, basePath: string): App {
  // Paths stay encoded for the router: a slash in an id is no separator.
  const root = new Hono({ getPath: (request) => new URL(request.url).pathname });
  const app = basePath === '' ? root : root.basePath(basePath);
  const routes = routesOf(context);
  for (const route of routes) {
    app.on(route.method, route.path, (c) => respond(context, route, c.req.raw, c.req.param()));
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).map(({ method }) => method);
    app.all(path, () => {
      throw new HttpError('METHOD_NOT_ALLOWED', `this route has ${allow.join(', ')}`, { allow: allow.join(', ') });
    });
  }
  root.notFound(() => {
    throw new HttpError('ROUTE_NOT_FOUND', 'there is no such route; GET /openapi.json lists them');
  });
  root.onError((error) => errorResponse(error, context.report));
  return (request) => root.fetch(request);
}

async function respond(
  context: ServerContext,
  route: Route,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const url = new URL(request.url);
  checkEncoding(url);
  const query = readQuery(url, route);
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  const body = checkBody(hasBody ? await readJsonBody(request, context.limits.maxBodyBytes) : undefined, route);
  const result = await route.handle(context, { request, params, query, body });
  if (result instanceof Response) return result;
  return jsonResponse(result ?? {}, route.response.status); // nothing to say but that it succeeded
}

function checkEncoding({ pathname }: URL): void {
  try {
    decodeURIComponent(pathname);
  } catch {
    throw new HoldfastError('INVALID_ARGUMENT', 'the path is not percent-encoded UTF-8; use encodeURIComponent(id)');
  }
}

/** The response to an error; failures are reported. */
export function errorResponse(error: unknown, report: (error: unknown) => void): Response {
  const { status, headers, body } = refusalOf(error);
  if (isFailure(error)) report(error);
  return Response.json(body, { status, headers });
}

/** Reads a request's JSON body, at most `maxBytes` of it; undefined when it is empty. */
async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new HttpError('MEDIA_TYPE_UNSUPPORTED', 'the body must be JSON, with content-type: application/json');
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HoldfastError('INVALID_ARGUMENT', 'the body is not valid JSON in UTF-8');
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const next = await reader?.read().catch(() => {
      throw new HoldfastError('INVALID_ARGUMENT', 'the connection broke before the whole body had arrived');
    });
    if (!next || next.done) return Buffer.concat(chunks);
    size += next.value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      throw tooLarge(maxBytes);
    }
    chunks.push(next.value);
  }
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError('BODY_TOO_LARGE', `a body has at most ${maxBytes} bytes; raise maxBodyBytes, or send less`, {
    connection: 'close',
  });
}
