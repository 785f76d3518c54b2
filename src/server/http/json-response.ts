/**
 * JSON bodies of any size. A whole session can have 100 MB: its text is made piece by piece as the client takes it, without one long
 * turn of the event loop and without a second copy in memory.
 */
import { afterLongTurn } from './long-turns.ts';

const CHUNK_LENGTH = 64 * 1024;
/** `{ state: { blocks: [block] } }`: items at this depth are written at once. */
const DEPTH = 3;

/** A response with the JSON of a value. */
export function jsonResponse(value: unknown, status: number): Response {
  const headers = { 'content-type': 'application/json' };
  const chunks = chunksOf(jsonPieces(value));
  const first = chunks.next();
  if (first.value !== undefined && first.value.length < CHUNK_LENGTH)
    return new Response(first.value, { status, headers });
  const encoder = new TextEncoder();
  let next = first;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await afterLongTurn();
        if (next.done) {
          controller.close();
          return;
        }
        controller.enqueue(encoder.encode(next.value));
        next = chunks.next();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}

/** The same text as that of `JSON.stringify`, in pieces: lists and objects down to `depth` are written item by item. */
export function* jsonPieces(given: unknown, depth: number = DEPTH): Generator<string, void> {
  const value = hasToJson(given) ? given.toJSON() : given;
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isList = Array.isArray(value);
  let before = isList ? '[' : '{';
  for (const [name, item] of isList ? value.entries() : Object.entries(value)) {
    if (!isList && item === undefined) continue;
    yield isList ? before : `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(item, depth - 1);
    before = ',';
  }
  if (before !== ',') yield before;
  yield isList ? ']' : '}';
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Joins pieces to texts of at least `CHUNK_LENGTH` characters; only the last one may be shorter. */
function* chunksOf(pieces: Iterable<string>): Generator<string, void> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
