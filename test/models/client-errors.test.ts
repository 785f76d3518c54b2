import type { LanguageModelV4 } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { aiSdkModel } from '../../src/models/ai-sdk.ts';
import { ModelError } from '../../src/ports/model.ts';
import { askInVain } from './ask.ts';
import { asking, finish, said, v4 } from './language-models.ts';

describe('errors of clients', () => {
  const throwing = (error: unknown): LanguageModelV4 => ({ ...v4([]), doStream: () => Promise.reject(error) });
  const apiError = (fields: object) => Object.assign(new Error('refused'), { name: 'AI_APICallError', ...fields });

  test.for([
    ['a status', apiError({ statusCode: 503 }), { status: 503, retryable: true }],
    [
      'a status with the client’s own word',
      apiError({ statusCode: 429, isRetryable: false }),
      { status: 429, retryable: false },
    ],
    [
      'a quota that waiting does not fill',
      apiError({ statusCode: 429, isRetryable: true, responseBody: '{"error":{"code":"insufficient_quota"}}' }),
      { retryable: false },
    ],
    [
      'milliseconds to wait',
      apiError({ statusCode: 429, responseHeaders: { 'retry-after-ms': '250.5', 'retry-after': '9' } }),
      { retryAfterMs: 250.5 },
    ],
    ['seconds to wait', apiError({ statusCode: 429, responseHeaders: { 'retry-after': '2' } }), { retryAfterMs: 2000 }],
    [
      'a date to wait for, by the provider’s clock',
      apiError({
        statusCode: 503,
        responseHeaders: { 'retry-after': 'Fri, 02 Jan 2026 00:00:30 GMT', date: 'Fri, 02 Jan 2026 00:00:00 GMT' },
      }),
      { retryAfterMs: 30_000 },
    ],
    [
      'a date that has passed',
      apiError({ statusCode: 503, responseHeaders: { 'retry-after': 'Fri, 02 Jan 1998 00:00:30 GMT' } }),
      { retryAfterMs: 0 },
    ],
    [
      'a wait that is no time',
      apiError({ statusCode: 503, responseHeaders: { 'retry-after': 'soon' } }),
      { retryable: true },
    ],
    [
      'a client that will not send',
      Object.assign(new Error('no key'), { name: 'AI_LoadAPIKeyError' }),
      { retryable: false },
    ],
    ['a connection that broke', Object.assign(new Error('read'), { code: 'ECONNRESET' }), { retryable: true }],
    [
      'a connection that broke, further down',
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }) }),
      { retryable: true },
    ],
    [
      'a request that is too long',
      apiError({ statusCode: 400, message: 'prompt is too long: 213462 tokens > 200000 maximum' }),
      { status: 400, retryable: false, tooLong: true },
    ],
    [
      'a request that is too long, by the code in the body',
      apiError({ statusCode: 400, responseBody: '{"error":{"code":"context_length_exceeded"}}' }),
      { status: 400, tooLong: true },
    ],
    [
      'a request that is too large, whatever the client says of trying again',
      apiError({ statusCode: 413, isRetryable: true }),
      { status: 413, retryable: false, tooLong: true },
    ],
    ['anything else', new RangeError('bug'), { retryable: false, message: 'bug' }],
  ] as const)('%s', async ([, thrown, expected]) => {
    const { error } = await askInVain(aiSdkModel(throwing(thrown)), asking);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ ...expected, cause: thrown });
    if (!('tooLong' in expected)) expect((error as ModelError).tooLong).toBeUndefined();
    if (!('retryAfterMs' in expected)) expect((error as ModelError).retryAfterMs).toBeUndefined();
  });

  test.for([
    ['an object', { message: 'overloaded', statusCode: 529 }, { status: 529, message: 'overloaded', retryable: true }],
    ['an object in an object', { error: { message: 'inner' } }, { message: 'inner', retryable: true }],
    [
      'a request that is too long',
      { type: 'error', error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'no' } },
      { message: 'no', retryable: false, tooLong: true },
    ],
    ['a text', 'broken', { message: 'broken', retryable: true }],
    ['the provider’s no', { message: 'policy', statusCode: 400 }, { status: 400, retryable: false }],
  ] as const)('within a stream: %s', async ([, thrown, expected]) => {
    const { deltas, error } = await askInVain(
      aiSdkModel(v4([...said, { type: 'error', error: thrown }, finish])),
      asking,
    );
    expect(deltas).toHaveLength(1);
    expect(error).toMatchObject(expected);
  });
});
