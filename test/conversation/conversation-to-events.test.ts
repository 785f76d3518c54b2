import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conversationToEvents, isConversationEvent, type SessionConversationState } from '../../src/conversation.ts';
import { anyEvent } from './arbitraries.ts';
import { plain, stateAfter } from './builders.ts';

/** Threads by name: which of them was heard of first is not part of what was said. */
function content(state: SessionConversationState): unknown {
  const { blocks, subagents } = plain(state);
  return { blocks, subagents: subagents.toSorted((a, b) => (a.toolUseId < b.toolUseId ? -1 : 1)) };
}

/** What sources write: nobody replaces a subagent's block by hand, and a result is there or is not, never under way. */
const event = anyEvent.filter(
  (e) =>
    e.type !== 'block:upsert' ||
    !(e.block.id.startsWith('subagent:') || (e.block.type === 'tool_result' && e.block.status === 'pending')),
);

test('a state, written as events and read again, is the same state', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const state = stateAfter(...events);
      // An agent called like another agent's call cannot be told from it.
      const names = new Set(state.subagents.map((subagent) => subagent.toolUseId));
      fc.pre(!state.subagents.some(({ agentId }) => agentId !== undefined && names.has(agentId)));
      const written = conversationToEvents(state);
      for (const event of written) expect(isConversationEvent(event)).toBe(true);
      expect(content(stateAfter(...written))).toEqual(content(state));
    }),
    { numRuns: 1000 },
  );
});
