import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { type EvaluationEvent, openSession, scriptedModel } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, deferred, tool } from './agent.ts';

const script = [{ reasoning: 'Hm.', text: 'I will look.', toolCalls: [call('look', { path: 'a b' })] }, 'Seen it.'];
const look = tool('look', () => 'seen', { effect: 'idempotent' });

/** An event in one line. */
function line(event: EvaluationEvent): string {
  if (event.type === 'message/delta') return `${event.kind}@${event.offset}: ${event.delta}`;
  if (event.type === 'message/recorded') return `recorded ${event.message.role}`;
  return event.type;
}

/** Warnings while a test runs. */
function warnings(): string[] {
  const heard: string[] = [];
  const hear = (warning: Error): void => void heard.push(`${warning.name}: ${warning.message}`);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  return heard;
}

describe('stream', () => {
  test('yields everything in order: committed events and the deltas between them', async () => {
    const { adapter, prompt, session } = await agent({ script, tools: [look] });
    const stream = adapter.stream(prompt, { session, input: 'Please.' });
    const lines: string[] = [];
    for await (const event of stream) lines.push(line(event));
    expect(lines).toEqual([
      'evaluation/started',
      'recorded system',
      'recorded user',
      'reasoning@0: Hm.',
      'text@0: I ',
      'text@2: will ',
      'text@7: look.',
      'tool-input@0: {"path":"a ',
      'tool-input@11: b"}',
      'recorded assistant',
      'tool/started',
      'recorded tool',
      'text@0: Seen ',
      'text@5: it.',
      'recorded assistant',
      'evaluation/completed',
    ]);
    expect(await stream.response).toMatchObject({ status: 'completed', text: 'Seen it.' });
  });

  test('a reader that starts late misses nothing', async () => {
    const { adapter, prompt, session } = await agent({ script, tools: [look] });
    const stream = adapter.stream(prompt, { session, input: 'Please.' });
    await stream.response;
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.filter(({ type }) => type !== 'message/delta')).toHaveLength(8);
  });

  test('a reader that stops does not stop the run, and may continue reading', async () => {
    const { adapter, prompt, session } = await agent({ script, tools: [look] });
    const stream = adapter.stream(prompt, { session, input: 'Please.' });
    const types = [];
    for await (const { type } of stream) {
      types.push(type);
      break;
    }
    expect(await stream.response).toMatchObject({ status: 'completed' });
    for await (const { type } of stream) types.push(type);
    expect([types[0], types[1], types.at(-1)]).toEqual([
      'evaluation/started',
      'message/recorded',
      'evaluation/completed',
    ]);
  });

  test('two readers share the events, and both end', async () => {
    const { adapter, prompt, session } = await agent({ script, tools: [look] });
    const stream = adapter.stream(prompt, { session, input: 'Please.' });
    const count = async (): Promise<number> => {
      let n = 0;
      for await (const _ of stream) n++;
      return n;
    };
    const [one, two] = await Promise.all([count(), count()]);
    expect(one + two).toBe(16);
  });

  test('a failed evaluation ends the iteration with its error, which is reported nowhere else', async () => {
    const { adapter, prompt, session } = await agent({ script: ['nonsense'], output: z.number() });
    const stream = adapter.stream(prompt, { session, outputRetries: 0 });
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const event of stream) types.push(event.type);
    };
    await expect(read()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(types.at(-1)).toBe('evaluation/failed');
    await expect(stream.response).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  });

  test('so does an evaluation that could not start', async () => {
    const { adapter, prompt, session } = await agent({ script });
    const stream = adapter.stream(prompt, { session, resume: true });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    await expect(stream.response).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });

  test('a failure without a reader is not an unhandled rejection', async () => {
    const { adapter, prompt, session } = await agent({ script });
    adapter.stream(prompt, { session, resume: true });
    await setImmediate();
    await setImmediate();
  });

  test('onEvent receives the events, too', async () => {
    const { adapter, prompt, session } = await agent({ script, tools: [look] });
    const told: string[] = [];
    const stream = adapter.stream(prompt, { session, onEvent: (event) => told.push(line(event)) });
    const read: string[] = [];
    for await (const event of stream) read.push(line(event));
    expect(told).toEqual(read);
  });

  test('for a closed session it throws the error, and leaves no lease that is renewed', async () => {
    const clock = fakeClock();
    const { adapter, prompt, session, store } = await agent({ script, tools: [look], clock });
    await session.close();
    await expect(adapter.stream(prompt, { session }).response).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    expect(clock.waiting).toBe(0);
    const again = await openSession({ store, id: session.id, clock });
    expect(await adapter.evaluate(prompt, { session: again })).toMatchObject({ status: 'completed' });
  });

  test('events of children have their own conversation id', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.' });
    const { adapter, prompt, session } = await agent({
      script: ({ prompt: { key }, turn }) =>
        key === 'child' ? 'found' : turn === 1 ? { toolCalls: [call('delegate')] } : 'ok',
      tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect: 'idempotent' })],
    });
    const deltas = [];
    for await (const event of adapter.stream(prompt, { session }))
      if (event.type === 'message/delta') deltas.push(event);
    const { evaluationId } = deltas.at(-1) as { evaluationId: string };
    expect(deltas.map(({ conversationId }) => conversationId)).toContain(`${evaluationId}/1/call_1_1/1`);
  });
});

describe('a listener must not break the run', () => {
  test.for(['message/delta', 'message/recorded', 'model/retried', 'evaluation/started'] as const)(
    'onEvent that throws on %s',
    async (type) => {
      const heard = warnings();
      const clock = fakeClock();
      let failures = 1;
      const { adapter, prompt, session } = await agent({
        script: ({ turn }) => (turn === 2 && failures-- > 0 ? { error: { status: 500 } } : (script[turn - 1] ?? '')),
        tools: [look],
        clock,
      });
      const stream = adapter.stream(prompt, {
        session,
        input: 'Please.',
        onEvent: (event) => {
          if (event.type === type) throw new Error('the screen is gone');
        },
      });
      expect(await advancing(clock, stream.response)).toMatchObject({ status: 'completed', text: 'Seen it.' });
      let read = 0;
      for await (const _ of stream) read++;
      expect(read).toBe(17); // the reader received the events at which the listener threw
      await setImmediate();
      expect(heard[0]).toBe('HoldfastWarning: onEvent failed: the screen is gone');
    },
  );

  test('an asynchronous onEvent that rejects', async () => {
    const heard = warnings();
    const { evaluate } = await agent({ script: ['hi'] });
    const onEvent = (async () => {
      throw new Error('later');
    }) as () => void;
    expect(await evaluate({ onEvent })).toMatchObject({ status: 'completed' });
    await setImmediate();
    expect(heard[0]).toMatch(/HoldfastWarning: onEvent failed: later/);
  });

  test('deltas are yielded while the model is still streaming', async () => {
    const gate = deferred();
    const model = scriptedModel(['one two'], {
      beforePart: (part) => (part.type === 'finish' ? gate.promise : undefined),
    });
    const { adapter, prompt, session } = await agent({ script: model });
    const stream = adapter.stream(prompt, { session, input: 'Please.' });
    const deltas: string[] = [];
    for await (const event of stream) {
      if (event.type !== 'message/delta') continue;
      deltas.push(String(event.delta));
      if (deltas.length === 2) gate.resolve();
    }
    expect(deltas).toEqual(['one ', 'two']);
  });
});
