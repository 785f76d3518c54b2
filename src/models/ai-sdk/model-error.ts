import { isHoldfastError, messageOf } from '../../core/errors.ts';
import { ModelError } from '../../ports/model.ts';
import { isRetryableStatus, isTooLong } from '../refusals.ts';

/**
 * What a provider client threw, as a `ModelError`. Clients are recognised by the shape of their errors, never by class:
 * several copies of the AI SDK may be installed.
 */
export function toModelError(error: unknown, options: { readonly streaming: boolean }): unknown {
  if (error instanceof ModelError || isHoldfastError(error)) return error;
  const { statusCode, isRetryable, responseHeaders, responseBody } = fieldsOf(error);
  const status = typeof statusCode === 'number' ? statusCode : undefined;
  const retryAfterMs = retryAfterOf(responseHeaders);
  // A connection that breaks is worth another try; a client that refuses to send the request will refuse it again.
  const transient = status === undefined ? options.streaming || isConnectionError(error) : isRetryableStatus(status);
  const message = messageFrom(error);
  const tooLong = isTooLong({
    status,
    code: codeOf(error),
    text: `${message} ${typeof responseBody === 'string' ? responseBody : ''}`,
  });
  const retryable =
    !tooLong &&
    (typeof isRetryable === 'boolean' ? isRetryable : transient) &&
    !String(responseBody).includes('insufficient_quota');
  return new ModelError(message, {
    retryable,
    tooLong,
    cause: error,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

interface ErrorFields {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: unknown;
  readonly responseBody?: unknown;
}

function fieldsOf(error: unknown): ErrorFields {
  return typeof error === 'object' && error !== null ? error : {};
}

/** Stream errors are often plain objects: `{ message }`, or `{ error: { message } }`. */
function messageFrom(error: unknown): string {
  if (error instanceof Error || typeof error !== 'object' || error === null) return messageOf(error);
  const { message, error: inner } = error as { message?: unknown; error?: unknown };
  if (typeof message === 'string') return message;
  return inner === undefined ? JSON.stringify(error) : messageFrom(inner);
}

/** The provider's name of an error, which a plain object of a stream may have further inside. */
function codeOf(error: unknown): string {
  const {
    code,
    type,
    error: inner,
  } = fieldsOf(error) as ErrorFields & { readonly type?: unknown; readonly error?: unknown };
  const own = [code, type].filter((name) => typeof name === 'string').join(' ');
  return typeof inner === 'object' && inner !== null && inner !== error ? `${own} ${codeOf(inner)}` : own;
}

/** Messages of a broken network, and of the causes below it. */
function isConnectionError(error: unknown): boolean {
  const { name } = fieldsOf(error);
  if (typeof name === 'string' && name.startsWith('AI_')) return false;
  for (let cause = error, depth = 0; depth < 5; depth++) {
    const fields = fieldsOf(cause);
    if (typeof fields.code === 'string' && /^(E[A-Z]+|UND_ERR_.+)$/.test(fields.code)) return true;
    if (fields.cause === undefined) break;
    cause = fields.cause;
  }
  return error instanceof TypeError && /fetch failed|terminated|network/i.test(error.message);
}

/** The delay that the provider requests: `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterOf(headers: unknown): number | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const { 'retry-after-ms': exact, 'retry-after': after, date } = headers as Record<string, string | undefined>;
  const ms = Number.parseFloat(exact ?? '');
  if (ms >= 0) return ms;
  if (after === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number.parseFloat(after) * 1000;
  // The provider's own clock, where the response has it: ours may be wrong.
  const wait = Date.parse(after) - (date === undefined ? Date.now() : Date.parse(date));
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
