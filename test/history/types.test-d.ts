import { describe, expectTypeOf, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { BuiltInManager } from '../../src/history/history-manager.ts';
import {
  type Curation,
  type CurationContext,
  checkCoherence,
  compose,
  curateRequest,
  type History,
  type HistoryManager,
  pin,
  slidingWindow,
  tokenBudget,
  truncateToolResults,
  type Violation,
} from '../../src/history.ts';

describe('the shapes that programs rely on', () => {
  test('a plain function over the array is a history; so is a manager', () => {
    expectTypeOf((messages: readonly ConversationMessage[]) => messages.slice(-10)).toExtend<History>();
    expectTypeOf(slidingWindow).returns.toEqualTypeOf<BuiltInManager>();
    expectTypeOf<BuiltInManager>().toExtend<HistoryManager>();
    expectTypeOf<HistoryManager>().toExtend<History>();
    expectTypeOf({ curate: (messages: readonly ConversationMessage[]) => messages.slice(-10) }).toExtend<History>();
    expectTypeOf(compose(slidingWindow({ size: 1 }), (messages) => messages)).toEqualTypeOf<BuiltInManager>();
  });

  test('an asynchronous function is not', () => {
    expectTypeOf(async (messages: readonly ConversationMessage[]) => messages).not.toExtend<History>();
  });

  test('an empty context is a context', () => {
    expectTypeOf<Record<never, never>>().toExtend<CurationContext>();
    expectTypeOf<Curation>().toHaveProperty('messages').toEqualTypeOf<readonly ConversationMessage[]>();
  });

  test('violations are a closed set', () => {
    expectTypeOf(checkCoherence([]).violations).toEqualTypeOf<readonly Violation[]>();
    expectTypeOf<Violation['code']>().toEqualTypeOf<
      | 'call-without-result'
      | 'result-without-call'
      | 'result-out-of-order'
      | 'duplicate-result'
      | 'system-lost'
      | 'reordered'
      | 'invented'
      | 'empty-content'
    >();
  });

  test('options are typed', () => {
    // @ts-expect-error a window has a size
    slidingWindow({});
    // @ts-expect-error a size is a number
    slidingWindow({ size: '3' });
    truncateToolResults();
    tokenBudget({});
    // @ts-expect-error tools are named
    pin({ tools: 'read' });
    // @ts-expect-error messages are needed
    curateRequest({});
  });

  test('messages of the argument cannot be changed', () => {
    const history: History = (messages) => {
      // @ts-expect-error the list is readonly
      messages.push();
      return messages;
    };
    expectTypeOf(history).toExtend<History>();
  });
});
