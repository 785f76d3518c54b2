import type { QueryParameter, Route } from '../route.ts';
import type { JsonSchema } from './json-schema.ts';

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: { code: { type: 'string' }, message: { type: 'string' } },
      required: ['code', 'message'],
    },
  },
  required: ['error'],
};

const ERROR_TEXTS: Readonly<Record<number, string>> = {
  400: 'A parameter, the body or the id is not valid',
  401: 'The token is missing or wrong',
  403: 'The host, the page or a missing header forbids it',
  404: 'There is no such session, evaluation, call, input or message',
  409: 'The session, the call or the id is in use',
  413: 'The body is too large',
  415: 'The body is not JSON',
  500: 'The server failed',
  501: 'The store cannot do this',
  503: 'Not now: the store is busy, or too many streams are open',
};

/** The OpenAPI 3.1 document of a table of routes. */
export function openApiOf(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'holdfast/server', version: '1' },
    paths,
    security: [{}, { token: [] }],
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
  };
}

function operationOf(route: Route): object {
  const { name, summary, body, response, noContent } = route;
  return {
    operationId: name,
    summary,
    parameters: parametersOf(route),
    ...(body && {
      requestBody: { required: !body.isOptional, content: { 'application/json': { schema: body.schema } } },
    }),
    responses: {
      [response.status]: {
        description: response.description,
        content: { [response.mediaType ?? 'application/json']: { schema: response.schema ?? {} } },
      },
      ...(noContent !== undefined && { 204: { description: noContent } }),
      ...errorsOf(route),
    },
  };
}

function parametersOf(route: Route): readonly object[] {
  const inPath = Array.from(route.path.matchAll(/:(\w+)/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(route.query ?? {}).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: parameter.isRequired === true,
    description: parameter.description,
    ...schemaOf(parameter),
  }));
  const acting = {
    name: 'x-holdfast-request',
    in: 'header',
    required: true,
    description: 'no page of another site can send it',
    schema: { type: 'string', enum: ['1'] },
  };
  const cursor = { name: 'last-event-id', in: 'header', required: false, schema: { type: 'string' } };
  return [
    ...inPath,
    ...inQuery,
    ...(route.method === 'GET' ? [] : [acting]),
    ...(route.isStream && route.query?.after ? [cursor] : []),
  ];
}

function schemaOf({ type, isRepeated, enum: values, minimum, maximum }: QueryParameter): object {
  if (type === 'json') return { content: { 'application/json': { schema: { type: 'object' } } } };
  const schema = {
    type,
    ...(values && { enum: values }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
  };
  return { schema: isRepeated ? { type: 'array', items: schema } : schema };
}

function errorsOf({ method, path, body, errors = [] }: Route): Readonly<Record<string, object>> {
  const statuses = [
    400,
    401,
    403,
    ...(path.includes(':') ? [404] : []),
    ...(body ? [413, 415] : []),
    ...(method === 'GET' ? [] : [409]),
    ...errors,
    500,
    503,
  ];
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const entries = statuses.map((status) => [status, { description: ERROR_TEXTS[status], content }] as const);
  return Object.fromEntries(entries);
}
