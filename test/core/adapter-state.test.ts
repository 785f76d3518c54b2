import { expect, test } from 'vitest';
import { z } from 'zod';
import { HoldfastError, isHoldfastError, messageOf } from '../../src/core/errors.ts';
import { type AdapterState, defineAdapterState, MAX_ADAPTER_STATE_BYTES } from '../../src/core/log/adapter-state.ts';
import { addUsage, NO_USAGE } from '../../src/core/log/usage.ts';

const claude = defineAdapterState({
  adapterType: 'claude',
  schema: z.object({ adapterType: z.literal('claude'), sessionId: z.string(), done: z.boolean().default(false) }),
  resumable: (state) => !state.done,
});

test('D25: a state is validated by its schema, and `resumable` returns whether an adapter can resume from it', () => {
  const state = claude.parse({ adapterType: 'claude', sessionId: 'x' });
  expect(state).toEqual({ adapterType: 'claude', sessionId: 'x', done: false });
  expect(claude.resumable(state)).toBe(true);
});

const open = defineAdapterState<AdapterState>({
  adapterType: 'open',
  schema: z.looseObject({ adapterType: z.string() }),
  resumable: () => true,
});
const bytes = (text: string): number => Buffer.byteLength(JSON.stringify({ adapterType: 'open', text }));

test.for<readonly [string, () => unknown]>([
  ['of another kind', () => claude.parse({ adapterType: 'opencode', sessionId: 'x' })],
  ['without what it needs', () => claude.parse({ adapterType: 'claude' })],
  ['that is nothing', () => claude.parse(null)],
  ['whose tag is another’s', () => open.parse({ adapterType: 'other' })],
  ['that holds a bigint', () => open.parse({ adapterType: 'open', n: 1n })],
  ['that is too large', () => open.parse({ adapterType: 'open', text: 'x'.repeat(MAX_ADAPTER_STATE_BYTES) })],
  ['of too many bytes in few characters', () => open.parse({ adapterType: 'open', text: '漢'.repeat(6_000) })],
  [
    'whose schema is asynchronous',
    () =>
      defineAdapterState<AdapterState>({
        adapterType: 'slow',
        schema: {
          '~standard': { version: 1, vendor: 't', validate: async (value) => ({ value: value as AdapterState }) },
        },
        resumable: () => true,
      }).parse({ adapterType: 'slow' }),
  ],
])('I10: a state %s is rejected', ([, parse]) => {
  expect(parse).toThrow(expect.objectContaining({ code: 'ADAPTER_STATE_INVALID' }));
});

test('the size limit counts bytes, and a state of exactly that size is accepted', () => {
  const room = MAX_ADAPTER_STATE_BYTES - bytes('');
  const text = `${'🎉'.repeat(100)}${'é'.repeat(100)}${'漢'.repeat(100)}${'x'.repeat(room - 400 - 200 - 300)}`;
  expect(bytes(text)).toBe(MAX_ADAPTER_STATE_BYTES);
  expect(open.parse({ adapterType: 'open', text })).toMatchObject({ text });
  expect(() => open.parse({ adapterType: 'open', text: `${text}x` })).toThrow();
});

test('usage is added field by field; a field that neither has stays absent', () => {
  expect(addUsage(NO_USAGE, NO_USAGE)).toEqual({ inputTokens: 0, outputTokens: 0 });
  expect(
    addUsage(
      { inputTokens: 1, outputTokens: 2, costUsd: 0.5 },
      { inputTokens: 3, outputTokens: 4, reasoningTokens: 5 },
    ),
  ).toEqual({ inputTokens: 4, outputTokens: 6, costUsd: 0.5, reasoningTokens: 5 });
});

test('D3: HoldfastError has a code, and cause and detail if given', () => {
  const cause = new Error('disk');
  const error = new HoldfastError('SESSION_CONFLICT', 'try again', { cause, detail: 'fence', data: { fence: 1 } });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'HoldfastError', code: 'SESSION_CONFLICT', detail: 'fence', cause });
  expect(isHoldfastError(error)).toBe(true);
  expect(isHoldfastError(error, 'SESSION_CONFLICT')).toBe(true);
  expect(isHoldfastError(error, 'SESSION_BUSY')).toBe(false);
  expect(isHoldfastError(cause)).toBe(false);
  expect(new HoldfastError('TURN_LIMIT', 'x')).not.toHaveProperty('cause');
  expect([messageOf(cause), messageOf('text'), messageOf(undefined)]).toEqual(['disk', 'text', 'undefined']);
});
