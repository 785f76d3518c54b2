/**
 * A route: what it is called, what it takes, what it returns and what it does. `app.ts` registers the routes of the table, this file checks
 * their queries and bodies, and `http/openapi.ts` describes them.
 */
import { HoldfastError } from '../core/errors.ts';
import { checkSessionId } from '../core/log/session-id.ts';
import type { Agents } from '../loop/agent/choose-agent.ts';
import type { Store } from '../ports/store.ts';
import type { Session } from '../session/session.ts';
import type { SessionWorker } from '../worker/session-worker.ts';
import type { ConversationCache } from './conversation-cache.ts';
import type { EventStreams } from './http/event-stream.ts';
import { type JsonSchema, schemaProblem } from './http/json-schema.ts';
import type { AgentProcesses, ServerLimits } from './server-options.ts';
import type { SessionPool } from './session-pool.ts';

/** What the routes of one server share. */
export interface ServerContext {
  readonly store: Store;
  readonly pool: SessionPool;
  readonly conversations: ConversationCache;
  readonly streams: EventStreams;
  readonly runners: SessionWorker | undefined;
  readonly agents: Agents | undefined;
  readonly processes: AgentProcesses | undefined;
  readonly limits: ServerLimits;
  readonly report: (error: unknown, sessionId?: string) => void;
}

/** A request whose parameters were checked. */
export interface RouteRequest<Query = Readonly<Record<string, unknown>>> {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A parameter of the query. `json` is text that holds JSON. */
export interface QueryParameter {
  readonly type: 'string' | 'integer' | 'boolean' | 'json';
  readonly description: string;
  readonly isRepeated?: true;
  readonly isRequired?: true;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** What a checked query holds, by the description of its parameters. */
type QueryOf<P extends QueryParameters> = {
  readonly [Name in keyof P as P[Name] extends { readonly isRequired: true } ? Name : never]: ValueOf<P[Name]>;
} & {
  readonly [Name in keyof P as P[Name] extends { readonly isRequired: true } ? never : Name]?:
    | ValueOf<P[Name]>
    | undefined;
};
type ValueOf<P extends QueryParameter> = P extends { readonly isRepeated: true } ? readonly OneOf<P>[] : OneOf<P>;
type OneOf<P extends QueryParameter> = P extends { readonly enum: readonly (infer Name)[] }
  ? Name
  : { readonly string: string; readonly integer: number; readonly boolean: boolean; readonly json: object }[P['type']];

/** One route. `handle` returns the value of the JSON body, or a whole response. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Its name in the OpenAPI document. */
  readonly name: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly body?: { readonly schema: JsonSchema; readonly isOptional?: true };
  readonly response: {
    readonly status: number;
    readonly description: string;
    readonly mediaType?: string;
    readonly schema?: JsonSchema;
  };
  /** It may also return 204, which means this. */
  readonly noContent?: string;
  /** Statuses of errors that not every route has. */
  readonly errors?: readonly number[];
  /** `EventSource` reads it, and cannot send headers: the token may be in the query. */
  readonly isStream?: true;
  /** Only a server that was given this option has the route. */
  readonly needs?: 'processes';
  readonly handle: (context: ServerContext, request: RouteRequest) => unknown;
}

interface RouteDefinition<P extends QueryParameters> extends Omit<Route, 'method' | 'path' | 'query' | 'handle'> {
  readonly query?: P;
  readonly handle?: (context: ServerContext, request: RouteRequest<QueryOf<P>>) => unknown;
  /** What it does with the session that its path names, instead of `handle`. */
  readonly inSession?: (session: Session, request: RouteRequest<QueryOf<P>>, context: ServerContext) => unknown;
  /** It begins the session if there is none. */
  readonly begins?: true;
  /** The session's runner has to know of it. */
  readonly wakes?: true;
}

/** A route at a method and a path, such as `GET /sessions/:id`. */
export function route<const P extends QueryParameters = Record<never, never>>(
  at: `${Route['method']} /${string}`,
  { handle, inSession, begins, wakes, ...description }: RouteDefinition<P>,
): Route {
  const [method, path] = at.split(' ') as [Route['method'], string];
  const inItsSession: RouteDefinition<P>['handle'] = async (context, request) => {
    const result = await withSession(context, request, (session) => inSession?.(session, request, context), {
      begin: begins === true,
    });
    if (wakes) context.runners?.wake(sessionIdOf(request));
    return result;
  };
  return { method, path, ...description, handle: (handle ?? inItsSession) as Route['handle'] };
}

/** The id of the session that a request names. */
export function sessionIdOf({ params }: Pick<RouteRequest, 'params'>): string {
  const { id = '' } = params;
  checkSessionId(id);
  return id;
}

/** Runs `body` with the session that a request names. */
export function withSession<T>(
  { pool }: ServerContext,
  request: Pick<RouteRequest, 'params'>,
  body: (session: Session) => Promise<T> | T,
  options: { readonly begin?: boolean } = {},
): Promise<T> {
  return pool.use(sessionIdOf(request), options, body);
}

/** Checks the query of a request by the route's description. Unknown, repeated and malformed parameters are `INVALID_ARGUMENT`. */
export function readQuery(url: URL, { query = {}, isStream }: Route): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const name of new Set(url.searchParams.keys())) {
    if (isStream && name === 'token') continue;
    const parameter = Object.hasOwn(query, name) ? query[name] : undefined;
    if (!parameter) {
      const known = Object.keys(query).join(', ') || 'none';
      throw invalid(`there is no parameter ${JSON.stringify(name.slice(0, 50))}; this route has: ${known}`);
    }
    const all = url.searchParams.getAll(name);
    if (all.length > 1 && !parameter.isRepeated) throw invalid(`the parameter ${name} was given ${all.length} times`);
    const read = all.map((text) => readParameter(name, text, parameter));
    values[name] = parameter.isRepeated ? read : read[0];
  }
  const missing = Object.keys(query).find((name) => query[name]?.isRequired && values[name] === undefined);
  if (missing !== undefined) throw invalid(`the parameter ${missing} is missing`);
  return values;
}

function readParameter(name: string, text: string, { type, ...rest }: QueryParameter): unknown {
  const value = parsed(text, type);
  const range = {
    ...(rest.minimum !== undefined && { minimum: rest.minimum }),
    ...(rest.maximum !== undefined && { maximum: rest.maximum }),
  };
  const schema: JsonSchema =
    type === 'json' ? { type: 'object' } : { type, ...range, ...(rest.enum && { enum: rest.enum }) };
  const problem = schemaProblem(value, schema, `the parameter ${name}`);
  if (problem) throw invalid(problem);
  return value;
}

function parsed(text: string, type: QueryParameter['type']): unknown {
  if (type === 'string') return text;
  if (type === 'integer') return /^-?\d{1,16}$/.test(text) ? Number(text) : undefined;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Checks the body of a request by the route's description. */
export function checkBody(value: unknown, { body }: Route): Readonly<Record<string, unknown>> {
  if (value === undefined && (!body || body.isOptional)) return {};
  if (!body) throw invalid('this route takes no body');
  const problem = value === undefined ? 'the body is missing; send JSON' : schemaProblem(value, body.schema);
  if (problem) throw invalid(problem);
  return value as Readonly<Record<string, unknown>>;
}

/** The fields of an object that are not undefined. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}

export function notFound(why: string): HoldfastError {
  return new HoldfastError('CONVERSATION_NOT_FOUND', why);
}

/** A name that a request gave, as an error shows it. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
