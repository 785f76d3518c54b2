import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { defineTool } from '../../src/index.ts';
import { tool } from './agent.ts';

describe('an invalid definition is rejected when it is created', () => {
  const input = z.object({});
  const execute = vi.fn();
  test.for([
    ['a tool without a name', () => tool('', execute)],
    ['a tool with a name no provider takes', () => tool('write file', execute)],
    ['a name that is too long', () => tool('x'.repeat(65), execute)],
    ['an effect that is none', () => tool('a', execute, { effect: 'maybe' as never })],
    ['a timeout that is none', () => tool('a', execute, { timeoutMs: Number.NaN })],
    ['retries that are none', () => tool('a', execute, { retries: -1 })],
    ['no handler', () => defineTool({ name: 'a', description: '', input, execute: undefined as never })],
    ['no schema', () => defineTool({ name: 'a', description: '', input: {} as never, execute })],
    ['a schema that has no JSON Schema', () => tool('a', execute, { input: z.object({ when: z.date() }) })],
    [
      'two tools of one name',
      () => definePrompt({ ns: 'a', key: 'a', instructions: '', tools: [tool('a', execute), tool('a', execute)] }),
    ],
    [
      'a name in a record that no provider takes',
      () => definePrompt({ ns: 'a', key: 'a', instructions: '', tools: { 'a b': tool('a', execute) } }),
    ],
    [
      'a tool under a key that is not its name, which the error names, too',
      () => definePrompt({ ns: 'a', key: 'a', instructions: '', tools: { x: tool('read', execute) } }),
      /tools: \{ x \} holds the tool "read"/,
    ],
    [
      'the same in a list of tools',
      () => definePrompt({ ns: 'a', key: 'a', instructions: '', tools: [{ x: tool('read', execute) }] }),
      /tools: \{ x \} holds the tool "read"/,
    ],
    ['a prompt without a key', () => definePrompt({ ns: 'a', key: '', instructions: '' })],
    ['a prompt without instructions', () => definePrompt({ ns: 'a', key: 'a', instructions: undefined as never })],
  ] as const)('%s', ([, define, message = /./]) => {
    expect(define).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) }),
    );
  });
});
