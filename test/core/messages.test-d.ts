import { describe, expectTypeOf, test } from 'vitest';
import {
  type BuiltInEvent,
  isBuiltInEvent,
  isUserEvent,
  type MessageRecorded,
  type SessionEvent,
  type ToolStarted,
  type UserEvent,
} from '../../src/core/log/events.ts';
import type {
  AssistantMessage,
  ConversationMessage,
  MediaPart,
  ReasoningPart,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../../src/core/log/messages.ts';
import type { PlannedCall, ResumePlan } from '../../src/core/plan/resume-plan.ts';

declare const message: ConversationMessage;
declare const event: SessionEvent;
declare const plan: ResumePlan;

describe('a message narrows by its role', () => {
  test('each role has its own fields only', () => {
    if (message.role === 'assistant') {
      expectTypeOf(message).toEqualTypeOf<AssistantMessage>();
      expectTypeOf(message.toolCalls).toEqualTypeOf<readonly ToolCall[] | undefined>();
      expectTypeOf(message.content).toEqualTypeOf<readonly (TextPart | MediaPart | ReasoningPart)[]>();
    } else if (message.role === 'tool') {
      expectTypeOf(message).toEqualTypeOf<ToolMessage>();
      expectTypeOf(message.toolCallId).toEqualTypeOf<string>();
    } else {
      // @ts-expect-error: only assistant messages have calls
      message.toolCalls;
      expectTypeOf(message.role).toEqualTypeOf<'system' | 'user'>();
    }
  });

  test('messages are readonly', () => {
    // @ts-expect-error: readonly
    message.turn = 2;
    // @ts-expect-error: readonly
    message.content.push({ type: 'text', text: '' });
  });
});

describe('an event narrows by its type', () => {
  test('to the built-in event of that type', () => {
    if (event.type === 'message/recorded') {
      expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
      expectTypeOf(event.message.role).toEqualTypeOf<'system' | 'user' | 'assistant' | 'tool'>();
    }
    switch (event.type) {
      case 'tool/started':
        expectTypeOf(event).toEqualTypeOf<ToolStarted>();
        break;
      case 'message/recorded':
      case 'evaluation/failed':
        expectTypeOf(event.type).toEqualTypeOf<'message/recorded' | 'evaluation/failed'>();
        break;
      default:
        // @ts-expect-error: the events with a message were narrowed away
        event satisfies MessageRecorded;
    }
    expectTypeOf([event].filter((one) => one.type === 'tool/started')).toEqualTypeOf<ToolStarted[]>();
  });

  test('an event of an unknown type has unknown fields, and its type is a string', () => {
    if (isBuiltInEvent(event)) return;
    expectTypeOf(event).toEqualTypeOf<UserEvent>();
    expectTypeOf(event.title).toEqualTypeOf<unknown>();
    expectTypeOf(event.seq).toEqualTypeOf<number>();
    expectTypeOf(event.type).toExtend<string>();
  });

  test('a misspelt type does not compile: event.type cannot be compared with an unknown type', () => {
    // @ts-expect-error: message/recorded
    event.type === 'mesage/recorded';
    if (isUserEvent(event, 'my/own')) {
      expectTypeOf(event).toExtend<UserEvent>();
      expectTypeOf(event.field).toEqualTypeOf<unknown>();
    }
  });

  test("isBuiltInEvent separates built-in events from the user's own", () => {
    if (!isBuiltInEvent(event)) return;
    expectTypeOf(event).toEqualTypeOf<BuiltInEvent>();
    if (event.type === 'message/recorded') {
      expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
      expectTypeOf(event.message).toEqualTypeOf<ConversationMessage>();
    }
    if (event.type === 'tool/started') expectTypeOf(event).toEqualTypeOf<ToolStarted>();
  });

  test('a switch over all built-in types is exhaustive', () => {
    const noun = (one: BuiltInEvent): string => {
      switch (one.type) {
        case 'session/described':
        case 'session/forked':
        case 'session/restored':
        case 'session/suspended':
        case 'session/resumed':
          return 'session';
        case 'evaluation/started':
        case 'evaluation/resumed':
        case 'evaluation/cancel-requested':
        case 'evaluation/resume-requested':
        case 'evaluation/suspended':
        case 'evaluation/completed':
        case 'evaluation/failed':
        case 'evaluation/superseded':
          return 'evaluation';
        case 'message/recorded':
        case 'message/interrupted':
        case 'message/erased':
          return 'message';
        case 'tool/started':
        case 'tool/approval-requested':
        case 'tool/approved':
        case 'tool/denied':
        case 'tool/settled':
        case 'tool/deferred':
          return 'tool';
        case 'input/queued':
        case 'input/withdrawn':
          return 'input';
        case 'adapter/captured':
        case 'history/curated':
        case 'history/summarized':
        case 'source/described':
        case 'source/recorded':
        case 'source/replaced':
          return 'other';
        default:
          return one satisfies never;
      }
    };
    expectTypeOf(noun).returns.toEqualTypeOf<string>();
  });
});

test('a plan narrows by `do`', () => {
  if (plan.do === 'run-calls') expectTypeOf(plan.calls).toEqualTypeOf<readonly PlannedCall[]>();
  // @ts-expect-error: only a plan that runs calls has them
  if (plan.do === 'call-model') plan.calls;
  if (plan.do !== 'nothing') expectTypeOf(plan.turn).toEqualTypeOf<number>();
});
