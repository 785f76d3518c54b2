import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conversationToEvents, isConversationEvent, type SessionConversationState } from '../../src/conversation.ts';
import { anyEvent } from './arbitraries.ts';
import { plain, stateAfter } from './builders.ts';

/** Subagents by id: their order of arrival does not matter. */
function content(state: SessionConversationState): unknown {
  const { blocks, subagents } = plain(state);
  return { blocks, subagents: subagents.toSorted((a, b) => (a.toolUseId < b.toolUseId ? -1 : 1)) };
}

/** What sources write: a subagent’s block is never replaced directly, and a result is never pending. */
const event = anyEvent.filter(
  (e) =>
    e.type !== 'block:upsert' ||
    !(e.block.id.startsWith('subagent:') || (e.block.type === 'tool_result' && e.block.status === 'pending')),
);

test('a state that is converted to events and reduced again is the same state', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const state = stateAfter(...events);
      // An agent with the id of another agent’s call cannot be distinguished from it.
      const names = new Set(state.subagents.map((subagent) => subagent.toolUseId));
      fc.pre(!state.subagents.some(({ agentId }) => agentId !== undefined && names.has(agentId)));
      const written = conversationToEvents(state);
      for (const event of written) expect(isConversationEvent(event)).toBe(true);
      expect(content(stateAfter(...written))).toEqual(content(state));
    }),
    { numRuns: 1000 },
  );
});
