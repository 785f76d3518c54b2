import type { TailItem } from '../../core/log/tail.ts';
import { formatTailCursor, parseTailCursor } from '../../core/log/tail-cursor.ts';
import { isNewest } from '../../session/read/tail.ts';
import type { AnySession } from '../../session/session.ts';
import { sessionGone } from '../../stores/refusals.ts';
import { STREAM_HEADERS } from '../http/event-stream.ts';
import { HttpError, isFailure, refusalOf } from '../http/http-error.ts';
import { type Attached, LiveHub } from '../live-hub.ts';
import { ProgressEnds } from '../progress-ends.ts';
import { type Route, type RouteRequest, route, type ServerContext, sessionIdOf } from '../route.ts';

/** The live stream of one session (D74). */
export const STREAM_ROUTE: Route = route('GET /sessions/:id/stream', {
  name: 'streamSession',
  summary: 'Events and pieces of drafts as they happen, as server-sent events',
  query: {
    after: { type: 'string', description: 'the cursor of the last item that was read; the header Last-Event-ID wins' },
    wait: { type: 'boolean', description: 'true: follow a session that does not exist yet' },
  },
  response: { status: 200, description: 'Items with their cursors', mediaType: 'text/event-stream' },
  errors: [503],
  isStream: true,
  handle: (context, request) => {
    const { query } = request;
    const after = request.request.headers.get('last-event-id') || query.after;
    if (after !== undefined) parseTailCursor(after);
    return streamOf(context, request, query.wait === true, (session, signal) =>
      tailMessages(context, session, after, signal),
    );
  },
});

/** The last message of a stream that an error ended. `isRestarted`: the session was deleted, and there is another one with its id. */
type EndMessage = (error: unknown, isRestarted: boolean) => string;

/** A response that streams what `messages` makes of a session. An error ends it with a message that says so. */
export async function streamOf(
  context: ServerContext,
  request: Pick<RouteRequest, 'request' | 'params'>,
  begin: boolean,
  messages: (session: AnySession, signal: AbortSignal) => AsyncIterator<string | Uint8Array, void>,
  headers: Readonly<Record<string, string>> = {},
  endMessage: EndMessage = endEvent,
): Promise<Response> {
  if (request.request.method === 'HEAD') {
    throw new HttpError('METHOD_NOT_ALLOWED', 'a stream has no HEAD; use GET', { allow: 'GET' });
  }
  const { pool, streams, store } = context;
  streams.assertRoom();
  const { session, release } = await pool.acquire(sessionIdOf(request), { begin });
  const describe = async (error: unknown): Promise<string> => {
    if (isFailure(error)) context.report(error, session.id);
    const now = await store.head(session.id).catch(() => undefined);
    return endMessage(error, now !== undefined && now.seq > 0 && now.incarnation !== session.incarnation);
  };
  const body = streams.open({
    messages: (signal) => untilError(messages(session, signal), signal, describe),
    check: async () => {
      try {
        const { incarnation } = await store.head(session.id);
        return incarnation === session.incarnation ? undefined : await describe(sessionGone(session.id));
      } catch (error) {
        return await describe(error);
      }
    },
    ended: release,
  });
  return new Response(body, { headers: { ...STREAM_HEADERS, ...headers } });
}

/** Passes messages on; an error becomes the last message, unless the reader or the server has ended the stream. */
async function* untilError(
  messages: AsyncIterator<string | Uint8Array, void>,
  signal: AbortSignal,
  describe: (error: unknown) => Promise<string>,
): AsyncGenerator<string | Uint8Array, void> {
  try {
    for (;;) {
      const next = await messages.next();
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (!signal.aborted) yield await describe(error);
  } finally {
    await messages.return?.();
  }
}

async function* tailMessages(
  { store, limits }: ServerContext,
  session: AnySession,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array, void> {
  yield `retry: ${limits.retryMs}\n\n`;
  const { seq: head } = await store.head(session.id);
  const { incarnation } = session;
  let cursor = after ?? formatTailCursor({ incarnation, seq: 0 });
  const start = parseTailCursor(cursor);
  let isLive = start.incarnation === incarnation && start.seq === head;
  if (isLive) yield liveEvent(head);
  const progress = new ProgressEnds();
  for (let isLost = false; !signal.aborted; ) {
    let attached: Attached | undefined = isLive && !isLost ? LiveHub.attach(session, cursor, encodeItem) : undefined;
    // Until it has caught up, and whenever the others are not where it is, the reader has a tail of its own.
    const own = attached ? [] : session.events({ live: true, drafts: true, after: cursor, signal });
    for await (const item of own) {
      yield encodeItem(item);
      cursor = item.cursor;
      progress.note(item.event);
      if (!isLive && parseTailCursor(cursor).seq >= head) {
        isLive = true;
        yield liveEvent(head);
      }
      attached = isLive && isNewest(item) ? LiveHub.attach(session, cursor, encodeItem) : undefined;
      if (attached) break;
    }
    if (!attached) return;
    isLost = false;
    try {
      for (let next = await attached.next(signal); next; next = await attached.next(signal)) {
        isLost = !progress.accepts(next.event);
        if (isLost) break;
        yield next.bytes;
        cursor = next.cursor;
        progress.note(next.event);
      }
    } finally {
      attached.detach();
    }
  }
}

/** The JSON of events that several readers receive: tails at the same place share the event, and it never changes. */
const TEXTS = new WeakMap<object, string>();

function textOf({ cursor, event }: TailItem): string {
  let text = TEXTS.get(event);
  if (text === undefined) {
    text = JSON.stringify(event);
    if ('seq' in event) TEXTS.set(event, text);
  }
  return `{"cursor":${JSON.stringify(cursor)},"event":${text}}`;
}

const ENCODER = new TextEncoder();

function encodeItem(item: TailItem): Uint8Array {
  return ENCODER.encode(`id: ${item.cursor}\ndata: ${textOf(item)}\n\n`);
}

function liveEvent(seq: number): string {
  return `event: live\ndata: ${JSON.stringify({ seq })}\n\n`;
}

/** Without it readers reconnect: for them the new session continues with `session/reset`. */
function endEvent(error: unknown, isRestarted: boolean): string {
  if (isRestarted) return '';
  return `event: end\ndata: ${JSON.stringify(refusalOf(error).body)}\n\n`;
}
