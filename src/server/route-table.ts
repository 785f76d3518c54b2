import { openApiOf } from './openapi.ts';
import type { Route } from './route.ts';
import { ACTING_ROUTES } from './routes/acting-routes.ts';
import { BLOCK_ROUTES } from './routes/block-routes.ts';
import { INBOX_ROUTE } from './routes/inbox-route.ts';
import { LISTING_ROUTES } from './routes/listing-routes.ts';
import { RECORD_ROUTES } from './routes/record-routes.ts';
import { SESSION_ROUTES } from './routes/session-routes.ts';
import { STREAM_ROUTE } from './routes/stream-route.ts';
import { UI_ROUTES } from './routes/ui-routes.ts';

const DESCRIPTION: Route = {
  method: 'GET',
  path: '/openapi.json',
  name: 'getDescription',
  summary: 'This description',
  response: { status: 200, description: 'An OpenAPI document', schema: { type: 'object' } },
  handle: () => openApiOf(ROUTES),
};

/** Every route of the server. */
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
