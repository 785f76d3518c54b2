import { describe, expect, test } from 'vitest';
import { type ConversationMessage, textOf } from '../../src/core/log/messages.ts';
import { checkCoherence, repairCoherence } from '../../src/history/coherence/coherence.ts';
import { curateRequest } from '../../src/history/curate-request.ts';
import type { History } from '../../src/history/history-manager.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { Conversation, shapeOf } from './conversation.ts';

const { messages } = new Conversation().system('s').user('q').calls('a', 'b').calls('c').says('d').user('and?');

function sent(history: History): readonly ConversationMessage[] {
  const request = curateRequest({ history, messages });
  expect(checkCoherence(request.messages, { original: messages }).violations).toEqual([]);
  return request.messages;
}

const resultOf = (list: readonly ConversationMessage[], callId: string): string | undefined => {
  const found = list.find((message) => message.role === 'tool' && message.toolCallId === callId);
  return found && textOf(found);
};

const without =
  (...callIds: readonly string[]): History =>
  (given) =>
    given.filter((message) => message.role !== 'tool' || !callIds.includes(message.toolCallId));

describe('a manager may drop results (D65)', () => {
  test('a result that is dropped without its call leaves a short placeholder', () => {
    const request = sent(without('a'));
    expect(shapeOf(request)).toBe(shapeOf(messages));
    expect(resultOf(request, 'a')).toBe('[result left out]');
    expect(resultOf(request, 'b')).toBe(resultOf(messages, 'b'));
  });

  test('a result of the newest group leaves a placeholder, too', () => {
    const open = messages.slice(0, 5);
    const request = curateRequest({ history: without('a', 'b'), messages: open });
    expect(['a', 'b'].map((id) => resultOf(request.messages, id))).toEqual(['[result left out]', '[result left out]']);
  });

  test('a call that is dropped with its result is not sent', () => {
    const request = sent((given) =>
      (without('a') as (given: readonly ConversationMessage[]) => readonly ConversationMessage[])(given).map((one) =>
        one.role === 'assistant' && one.toolCalls
          ? { ...one, toolCalls: one.toolCalls.filter(({ callId }) => callId !== 'a') }
          : one,
      ),
    );
    expect(shapeOf(request)).toBe('system user ask(b) b ask(c) c says user');
  });

  test('a call that is dropped takes its result with it, also when the manager returned the result', () => {
    const request = sent((given) =>
      given.map((one) =>
        one.role === 'assistant' && one.toolCalls
          ? { ...one, toolCalls: one.toolCalls.filter(({ callId }) => callId !== 'a') }
          : one,
      ),
    );
    expect(shapeOf(request)).toBe('system user ask(b) b ask(c) c says user');
  });

  test('the manager of the documentation sends the calls of search with a placeholder, and every other result as it is', () => {
    const withoutSearchResults: History = (given) =>
      given.filter((message) => message.role !== 'tool' || message.toolName !== 'search');
    const asked = new Conversation()
      .user('q')
      .asks({ callId: 'a', name: 'search', arguments: '{}' }, 'b')
      .result('a')
      .result('b')
      .user('and?')
      .messages.map((one) => (one.role === 'tool' && one.toolCallId === 'a' ? { ...one, toolName: 'search' } : one));
    const request = curateRequest({ history: withoutSearchResults, messages: asked }).messages;
    expect(shapeOf(request)).toBe('user ask(a,b) a b user');
    expect(['a', 'b'].map((id) => resultOf(request, id))).toEqual(['[result left out]', 'result of b']);
  });

  test('a pinned group keeps its results', () => {
    const request = sent(compose(pin({ messages: [messages[2]?.id ?? ''] }), without('a', 'c')));
    expect(resultOf(request, 'a')).toBe(resultOf(messages, 'a'));
    expect(resultOf(request, 'c')).toBe('[result left out]');
  });

  test("the placeholder is the same object for every request, so that the provider's cache stays valid", () => {
    const history = without('a');
    const first = curateRequest({ history, messages });
    const second = curateRequest({ history, messages, previous: first });
    expect(second.record.prefixKept).toBe(1);
    expect(second.messages.map((message, i) => message === first.messages[i])).not.toContain(false);
  });

  test('repairCoherence inserts the placeholder, too', () => {
    const repaired = repairCoherence(messages.toSpliced(3, 1), { original: messages }).messages;
    expect(resultOf(repaired, 'a')).toBe('[result left out]');
  });

  test('the repair is in the record', () => {
    const { record } = curateRequest({ history: without('a'), messages });
    expect(record.repairs).toEqual([expect.stringMatching(/^call-without-result .*call a.*placeholder/)]);
  });
});

describe('the result of a manager (D65)', () => {
  const newest = (given: readonly ConversationMessage[]): readonly ConversationMessage[] => given.slice(-2);
  const expected = shapeOf(sent(newest));

  test.for<[string, History]>([
    ['an array from curate', { name: 'n', curate: newest }],
    ['an array from the curate of a manager without a name', { curate: newest }],
    ['{ messages } from curate', { name: 'n', curate: (given) => ({ messages: newest(given) }) }],
    ['{ messages } from a function', ((given: never) => ({ messages: newest(given) })) as unknown as History],
  ])('may be %s', ([, history]) => {
    const request = curateRequest({ history, messages });
    expect(shapeOf(request.messages)).toBe(expected);
    expect(request.repairs.map(({ code }) => code)).not.toContain('manager-failed');
  });

  test('is reported by the name of its class if the manager has no name', () => {
    class KeepNewest {
      curate(given: readonly ConversationMessage[]): readonly ConversationMessage[] {
        return newest(given);
      }
    }
    expect(curateRequest({ history: new KeepNewest(), messages }).record.strategy).toBe('KeepNewest');
    expect(curateRequest({ history: { curate: newest }, messages }).record.strategy).toBe('manager');
  });
});
