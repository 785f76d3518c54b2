import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { storeFailure } from '../../src/stores/store-failure.ts';

test.for([
  ['ENOSPC', 'STORE_FULL'],
  ['EDQUOT', 'STORE_FULL'],
  ['EBUSY', 'STORE_BUSY'],
  ['EMFILE', 'STORE_BUSY'],
  ['EACCES', 'STORE_READ_ONLY'],
  ['EROFS', 'STORE_READ_ONLY'],
  ['EIO', 'STORE_FAILED'],
  [undefined, 'STORE_FAILED'],
] as const)('an error with code %s is %s, with the place and the cause', ([code, expected]) => {
  const cause = Object.assign(new Error('what happened'), { code });
  const error = storeFailure(cause, '/data/store');
  expect(error).toMatchObject({ code: expected, cause });
  expect(error.message).toMatch(/^\/data\/store: .+; .+ \(what happened\)$/);
});

test('a real error of a file becomes a HoldfastError', () => {
  const read = () => {
    try {
      return readFileSync('/no such directory/file');
    } catch (error) {
      throw storeFailure(error, 'the store');
    }
  };
  expect(read).toThrow(expect.objectContaining({ code: 'STORE_FAILED', message: expect.stringContaining('ENOENT') }));
});

test('a HoldfastError is returned as it is, and any thrown value gets a message', () => {
  const error = new HoldfastError('SESSION_CONFLICT', 'stale');
  expect(storeFailure(error, 'x')).toBe(error);
  expect(storeFailure('text', 'x').message).toContain('(text)');
  expect(storeFailure(undefined, 'x').code).toBe('STORE_FAILED');
});
