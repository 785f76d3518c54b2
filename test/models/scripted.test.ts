import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { type ScriptedTurn, scriptedModel } from '../../src/models/scripted.ts';
import { ModelError } from '../../src/ports/model.ts';
import { ask, askInVain, blocksIn, blocksOf, request } from './ask.ts';

describe('a scripted model', () => {
  test('responds by the requested turn, in any order and any number of times', async () => {
    const model = scriptedModel(['one', { text: 'two' }]);
    for (const turn of [2, 1, 1, 2]) {
      const { response } = await ask(model, request(turn));
      expect(response.content).toEqual([{ type: 'text', text: turn === 1 ? 'one' : 'two' }]);
      expect(response.finishReason).toBe('stop');
    }
  });

  test('waits for an asynchronous script', async () => {
    const model = scriptedModel(async ({ turn }) => `turn ${turn}`);
    expect(await ask(model, request(2))).toMatchObject({ response: { content: [{ type: 'text', text: 'turn 2' }] } });
  });

  test('fails beyond the end of its script with an error that is not retryable', async () => {
    const { error } = await askInVain(scriptedModel(['one']), request(2));
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('turn 2') });
  });

  test('numbers calls without an id by turn, and sends ids and string arguments as written (D11)', async () => {
    const model = scriptedModel(() => ({
      text: 'calling',
      toolCalls: [
        { name: 'a', arguments: { x: 1 } },
        { name: 'b', arguments: '{"x": ', id: '' },
        { name: 'c', arguments: {} },
      ],
    }));
    const { response } = await ask(model, request(7));
    expect(response.toolCalls).toEqual([
      { callId: 'call_7_1', name: 'a', arguments: '{"x":1}' },
      { callId: '', name: 'b', arguments: '{"x": ' },
      { callId: 'call_7_3', name: 'c', arguments: '{}' },
    ]);
    expect(response.finishReason).toBe('tool-calls');
  });

  test.for([
    [408, true],
    [409, true],
    [429, true],
    [500, true],
    [529, true],
    [400, false],
    [401, false],
    [404, false],
  ] as const)('fails with status %i, retryable: %s', async ([status, retryable]) => {
    const { error } = await askInVain(scriptedModel([{ error: { status } }]), request(1));
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ status, retryable });
  });

  test('rejects a request as too long with the codes, messages or statuses that providers use', async () => {
    for (const error of [
      { status: 400, code: 'context_length_exceeded' },
      { status: 400, message: 'prompt is too long: 9 tokens > 8 maximum' },
      { status: 413 },
    ]) {
      const refused = await askInVain(scriptedModel([{ error }]), request(1));
      expect(refused.error).toMatchObject({ status: error.status, retryable: false, tooLong: true });
    }
    const { error } = await askInVain(
      scriptedModel([{ error: { status: 400, message: 'no such model' } }]),
      request(1),
    );
    expect(error).toMatchObject({ message: 'no such model' });
    expect((error as ModelError).tooLong).toBeUndefined();
  });

  test('streams its text before it fails, like a connection that breaks', async () => {
    const model = scriptedModel([{ text: 'half an answer', error: { status: 500, retryAfterMs: 20 } }]);
    const { deltas, error } = await askInVain(model, request(1));
    expect(error).toMatchObject({ status: 500, retryAfterMs: 20 });
    expect(deltas.map((part) => (part.type === 'text-delta' ? part.delta : part))).toEqual(['half ', 'an ', 'answer']);
  });

  test('the joined deltas of a block equal the response; ids name the position in the response', async () => {
    const turn = fc.record({
      text: fc.string({ unit: fc.constantFrom('a', ' ', '\n', '😀', 'é') }),
      reasoning: fc.string(),
      toolCalls: fc.array(fc.record({ name: fc.constantFrom('a', 'b'), arguments: fc.json() }), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(turn, async (scripted: ScriptedTurn) => {
        const { deltas, response } = await ask(scriptedModel([scripted]), request(1));
        expect(blocksOf(deltas)).toEqual(blocksIn(response));
      }),
    );
  });

  test('reports the same usage every time, and more for a longer request', async () => {
    const model = scriptedModel(['12345678']);
    const message = (text: string): ConversationMessage => ({
      id: 'm',
      evaluationId: 'e1',
      conversationId: 'main',
      sequence: 0,
      turn: 0,
      promptNs: 'test',
      promptKey: 'test',
      createdAt: '2026-01-01T00:00:00.000Z',
      role: 'user',
      content: [{ type: 'text', text }],
    });
    const usage = async (messages: readonly ConversationMessage[]) =>
      (await ask(model, request(1, messages))).response.usage;
    expect(await usage([message('x'.repeat(40))])).toEqual({ inputTokens: 32, outputTokens: 2 });
    expect(await usage([message('x'.repeat(40)), message('y')])).toEqual({ inputTokens: 64, outputTokens: 2 });
    const priced = scriptedModel([{ text: 'a', usage: { inputTokens: 5, outputTokens: 6, costUsd: 0.5 } }]);
    expect((await ask(priced, request(1))).response.usage).toEqual({
      inputTokens: 5,
      outputTokens: 6,
      costUsd: 0.5,
    });
  });

  test('waits before each part, and stops waiting when it is aborted', async () => {
    const controller = new AbortController();
    const waiting = Promise.withResolvers<void>();
    const model = scriptedModel(['one two'], {
      beforePart: (part) => {
        if (part.type !== 'text-delta' || part.delta !== 'two') return;
        waiting.resolve();
        return new Promise<void>(() => undefined);
      },
    });
    const asking = askInVain(model, request(1, [], { signal: controller.signal }));
    await waiting.promise;
    controller.abort(new Error('enough'));
    const { deltas, error } = await asking;
    expect(error).toMatchObject({ message: 'enough' });
    expect(deltas).toHaveLength(1);
  });

  test('yields nothing when it was aborted before it started', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    const { deltas, error } = await askInVain(scriptedModel(['one']), request(1, [], { signal }));
    expect(error).toMatchObject({ message: 'stopped' });
    expect(deltas).toEqual([]);
  });

  test('rejects an invalid script', () => {
    // @ts-expect-error: a string is one turn, not a script
    const make = () => scriptedModel('hello');
    expect(make).toThrow(expect.toSatisfy((error: unknown) => isHoldfastError(error, 'INVALID_ARGUMENT')));
  });
});
