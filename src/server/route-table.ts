import { openApiOf } from './http/openapi.ts';
import { type Route, route, type ServerContext } from './route.ts';
import { ACTING_ROUTES } from './routes/acting-routes.ts';
import { BLOCK_ROUTES } from './routes/block-routes.ts';
import { INBOX_ROUTE } from './routes/inbox-route.ts';
import { LISTING_ROUTES } from './routes/listing-routes.ts';
import { RECORD_ROUTES } from './routes/record-routes.ts';
import { ok } from './routes/schemas.ts';
import { SESSION_ROUTES } from './routes/session-routes.ts';
import { STREAM_ROUTE } from './routes/stream-route.ts';
import { UI_ROUTES } from './routes/ui-routes.ts';

const DESCRIPTION = route('GET /openapi.json', {
  name: 'getDescription',
  summary: 'This description',
  response: ok('An OpenAPI document'),
  handle: (context) => openApiOf(routesOf(context)),
});

/** Every route that a server may have. */
export const ROUTES: readonly Route[] = [
  ...LISTING_ROUTES,
  INBOX_ROUTE,
  ...SESSION_ROUTES,
  ...BLOCK_ROUTES,
  ...RECORD_ROUTES,
  STREAM_ROUTE,
  ...ACTING_ROUTES,
  ...UI_ROUTES,
  DESCRIPTION,
];

/** The routes of a server, by the options that it was given. */
export function routesOf(context: Pick<ServerContext, 'processes'>): readonly Route[] {
  return ROUTES.filter(({ needs }) => needs === undefined || context[needs] !== undefined);
}
