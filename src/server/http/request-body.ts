import { HoldfastError } from '../../core/errors.ts';
import { HttpError } from './http-error.ts';

/** Reads a request's JSON body, at most `maxBytes` of it; undefined when it is empty. */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
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
