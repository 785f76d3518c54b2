import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { CallRef } from '../../src/core/log/messages.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  defineTool,
  type Model,
  type ModelPart,
  memoryStore,
  type NewEvent,
  type ToolCall,
} from '../../src/index.ts';
import { agent, call, resultText, tool } from './agent.ts';
import { contentOf, EXACT, hide, logOf, OTHER, paying, redact, SECRET, shown } from './paying-agent.ts';

describe('D77: a provider gets the recorded form', () => {
  test('in every request, live and after a resume', async () => {
    const script = [{ toolCalls: [call('pay', EXACT)] }, 'ok'];
    const live = await paying({ effect: 'idempotent' }, { script });
    await live.evaluate();
    const stopped = await paying({ effect: 'idempotent' }, { script });
    await stopped.interrupt();
    const resumed = await stopped.again();
    await resumed.evaluate({ resume: true });
    const asked = (messages: readonly ConversationMessage[] = []): unknown =>
      messages.map(({ role, content, ...rest }) => ({ role, content, calls: 'toolCalls' in rest && rest.toolCalls }));
    expect(asked(resumed.requests.at(-1)?.messages)).toEqual(asked(live.requests.at(-1)?.messages));
    for (const { requests } of [live, resumed]) expect(JSON.stringify(requests)).not.toContain(SECRET);
    expect(JSON.stringify(live.requests)).toContain('[card]');
  });
});

describe('D77: redact', () => {
  test('runs once for each recorded event, whatever it returns', async () => {
    const seen: string[] = [];
    let n = 0;
    const random = (event: NewEvent): NewEvent => {
      const { message } = event as { message?: ConversationMessage };
      seen.push(message ? `${message.role} ${message.sequence}` : event.type);
      return JSON.parse(JSON.stringify(event).replaceAll(SECRET, () => `[${++n}]`)) as NewEvent;
    };
    const made = await paying({ effect: 'idempotent' }, { redact: random });
    await made.interrupt();
    const next = await made.again();
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT, EXACT]);
    expect(seen.filter((one) => one === 'assistant 2')).toHaveLength(1);
    expect(seen).toHaveLength((await logOf(next.session)).length);
    expect(n).toBe(1);
  });

  test('may change its event', async () => {
    const inPlace = (event: NewEvent): NewEvent => {
      const { message } = event as { message?: { toolCalls?: { arguments: string }[] } };
      for (const one of message?.toolCalls ?? []) one.arguments = hide(one.arguments);
      return event;
    };
    const made = await paying({ effect: 'read' }, { redact: inPlace });
    await made.evaluate();
    expect(made.given).toEqual([EXACT]);
    expect(await shown(made)).not.toContain(SECRET);
  });

  test('that throws for a response records nothing of it and runs nothing', async () => {
    let broken = true;
    const throwing = (event: NewEvent): NewEvent => {
      if (broken && JSON.stringify(event).includes(SECRET)) throw new Error('cannot redact');
      return redact(event);
    };
    const made = await paying({ effect: 'once' }, { redact: throwing });
    await expect(made.evaluate()).rejects.toThrow('cannot redact');
    expect(made.given).toEqual([]);
    expect(JSON.stringify(await logOf(made.session))).not.toContain('assistant');
    broken = false;
    await (await made.again({ script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'] })).evaluate({ resume: true });
    expect(made.given).toEqual([EXACT]);
  });

  test('that throws for a result leaves the call open, with its arguments', async () => {
    let broken = true;
    const throwing = (event: NewEvent): NewEvent => {
      if (broken && JSON.stringify(event).includes('"role":"tool"')) throw new Error('cannot redact');
      return redact(event);
    };
    const made = await paying({ effect: 'idempotent' }, { redact: throwing });
    await expect(made.evaluate()).rejects.toThrow('cannot redact');
    broken = false;
    await (await made.again()).evaluate({ resume: true });
    expect(made.given).toEqual([EXACT, EXACT]);
  });

  test.for([
    ['a call another id', (text: string) => text.replaceAll('call_1_1', 'renamed')],
    [
      'a message another type',
      (text: string) => text.replace('"message/recorded","message":{"id":"e1:2', '"my/event","message":{"id":"e1:2'),
    ],
    ['a message another turn', (text: string) => text.replaceAll('"turn":1', '"turn":7')],
    ['a message another place', (text: string) => text.replace('"sequence":2', '"sequence":9')],
    ['a message another role', (text: string) => text.replace('"role":"assistant"', '"role":"user"')],
  ] as const)('that returns %s is rejected: the loop would send requests without end', async ([, change]) => {
    const changing = (event: NewEvent): NewEvent => JSON.parse(change(hide(JSON.stringify(event)))) as NewEvent;
    const made = await paying({ effect: 'read' }, { redact: changing });
    await expect(made.evaluate({ evaluationId: 'e1' })).rejects.toMatchObject({ code: 'EVENT_INVALID' });
    expect(made.given).toEqual([]);
    expect(made.requests).toHaveLength(1);
  });

  test('a schema whose error quotes the arguments does not put them into the log', async () => {
    const onlyArguments = (event: NewEvent): NewEvent => {
      if (event.type !== 'message/recorded') return event;
      const { message } = event as { message: AssistantMessage };
      if (!message.toolCalls) return event;
      return {
        ...event,
        message: { ...message, toolCalls: message.toolCalls.map((one) => ({ ...one, arguments: '{}' })) },
      };
    };
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: z.strictObject({ cents: z.number() }),
      execute: () => 'paid',
    });
    const { session, evaluate, store } = await agent({
      script: [{ toolCalls: [call('pay', { cents: 1, [SECRET]: true })] }, 'ok'],
      tools: [pay],
      redact: onlyArguments,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toContain('do not fit its schema');
    const kept: unknown[] = [];
    for await (const event of store.read(session.id)) kept.push(event);
    expect(JSON.stringify(kept)).not.toContain(SECRET);
  });

  test('a call whose id no store accepts as a name runs with its exact arguments', async () => {
    const given: unknown[] = [];
    const pay = tool('pay', (input) => given.push(input), { effect: 'read' });
    const { evaluate } = await agent({
      script: [{ toolCalls: [{ ...call('pay', EXACT), id: 'a\0\ud800' }] }, 'ok'],
      tools: [pay],
      redact,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(given).toEqual([EXACT]);
  });

  test('of a repeated message neither restores nor replaces the arguments of its call', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const recorded = (await logOf(made.session)).find(
      (event) => event.type === 'message/recorded' && (event.message as ConversationMessage).role === 'assistant',
    ) as { message: AssistantMessage };
    const { argumentsRedacted: _, ...one } = (recorded.message.toolCalls as readonly [ToolCall])[0];
    const again = (text: string) => ({
      type: 'message/recorded',
      message: { ...recorded.message, toolCalls: [{ ...one, arguments: text }] },
    });
    await made.session.append([again(JSON.stringify({ card: OTHER }))]);
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    await made.session.deny(ref);
    await made.session.append([again(JSON.stringify(EXACT))]);
    expect(await contentOf(made.store, ref)).toBeUndefined();
  });

  test('when absent costs nothing: no append and no read names a call', async () => {
    const store = memoryStore();
    const appends: unknown[] = [];
    let reads = 0;
    const { append, readCallContent } = store;
    store.append = (id, events, options) => {
      appends.push(options.callContents);
      return append(id, events, options);
    };
    store.readCallContent = (...args) => {
      reads++;
      return readCallContent(...args);
    };
    const made = await agent({
      store,
      script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'],
      tools: [tool('pay', () => 1)],
    });
    await made.evaluate();
    expect(appends.filter(Boolean)).toEqual([]);
    expect(reads).toBe(0);
  });
});

describe('D77: other recorded and emitted text', () => {
  test('a parser’s error does not quote redacted arguments', async () => {
    const made = await paying(
      {},
      { script: [{ toolCalls: [{ name: 'pay', arguments: `{"card": ${SECRET}` }] }, 'ok'] },
    );
    await made.evaluate();
    expect(resultText(made.session, 'call_1_1')).toBe('The arguments of "pay" are not JSON');
  });

  /** A model that streams the arguments of a call, and breaks off or not. */
  function streaming(breaks: boolean): Model {
    return {
      provider: 'test',
      modelId: 'streaming',
      async *stream({ turn }): AsyncGenerator<ModelPart> {
        if (turn > 1)
          return yield { type: 'finish', response: { content: [{ type: 'text', text: 'ok' }], toolCalls: [] } };
        yield { type: 'text-delta', blockId: 't', delta: 'Paying.' };
        yield { type: 'tool-input-delta', blockId: 'c', toolName: 'pay', delta: '{"card":"4111-' };
        if (breaks) throw new Error('it broke');
        yield { type: 'tool-input-delta', blockId: 'c', toolName: 'pay', delta: '1111"}' };
        const toolCalls = [{ callId: 'c', name: 'pay', arguments: JSON.stringify(EXACT) }];
        yield { type: 'finish', response: { content: [{ type: 'text', text: 'Paying.' }], toolCalls } };
      },
    };
  }

  test('streaming arguments reach no listener, and text does', async () => {
    const made = await paying({}, { script: streaming(false) });
    await made.evaluate();
    const deltas = made.events.filter((event) => event.type === 'message/delta') as { kind?: string }[];
    expect(deltas.map(({ kind }) => kind)).toEqual(['text']);
    expect(made.given).toEqual([EXACT]);
  });

  test('interrupted arguments are omitted from message/interrupted, or pass through redactText', async () => {
    for (const redactText of [undefined, hide]) {
      const made = await paying(
        {},
        { script: streaming(true), adapter: { maxModelRetries: 0 }, ...(redactText && { redactText }) },
      );
      await made.evaluate();
      const log = JSON.stringify(await logOf(made.session));
      expect(log).toContain('message/interrupted');
      expect(log).toContain('Paying.');
      expect(log).not.toContain('4111');
    }
  });
});
