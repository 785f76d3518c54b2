import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createConversationState, reduceConversation } from '../../src/conversation.ts';

test('console.log of a state shows its blocks', () => {
  const at = { conversationId: 'main', timestamp: '2026-01-01T00:00:00.000Z' };
  const block = { id: 'b1', type: 'user_message', status: 'complete', content: 'Hello?', ...at } as const;
  const state = reduceConversation(createConversationState(), { type: 'block:upsert', ...at, block });
  expect(inspect(state, { depth: 5 })).toContain("content: 'Hello?'");
});
