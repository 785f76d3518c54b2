import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ThreadNode } from '../../src/conversation/selectors.ts';
import {
  type ConversationEvent,
  createConversationState,
  isConversationEvent,
  reduceConversation,
  reduceConversationEvents,
  reviveConversationState,
  type SessionConversationState,
  threadTree,
} from '../../src/conversation.ts';
import { anyEvent, repeatableEvent } from './arbitraries.ts';
import { completed, deepFreeze, plain, spawned, stateAfter, text, upsert } from './builders.ts';

const events = fc.array(anyEvent, { maxLength: 40 });
const RUNS = { numRuns: 1000 };

describe('I7: the state does not depend on how its events arrive', () => {
  test('any split into batches gives the same state', () => {
    fc.assert(
      fc.property(events, fc.array(fc.nat(40), { maxLength: 5 }), (all, cuts) => {
        const bounds = [0, ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b), all.length];
        let state = createConversationState();
        for (const [i, start] of bounds.entries())
          state = reduceConversationEvents(state, all.slice(start, bounds[i + 1] ?? start));
        expect(plain(state)).toEqual(plain(stateAfter(...all)));
      }),
      RUNS,
    );
  });

  test('an event that is delivered twice in a row gives the same state, and the second time the same object (D48)', () => {
    fc.assert(
      fc.property(fc.array(repeatableEvent, { maxLength: 40 }), (all) => {
        let state = createConversationState();
        for (const event of all) {
          state = reduceConversation(state, event);
          expect(reduceConversation(state, structuredClone(event))).toBe(state);
        }
      }),
      RUNS,
    );
  });

  test('a state that was revived from JSON continues like the original', () => {
    fc.assert(
      fc.property(events, fc.nat(40), (all, cut) => {
        const before = stateAfter(...all.slice(0, cut));
        const copy: SessionConversationState = JSON.parse(JSON.stringify(before));
        const rest = all.slice(cut);
        expect(plain(rest.reduce(reduceConversation, copy))).toEqual(plain(rest.reduce(reduceConversation, before)));
        expect(plain(reduceConversationEvents(reviveConversationState(copy), rest))).toEqual(
          plain(reduceConversationEvents(before, rest)),
        );
      }),
      RUNS,
    );
  });

  test('every generated event is valid, and a batch gives the same JSON text as single events', () => {
    fc.assert(
      fc.property(events, (all) => {
        for (const event of all) expect(isConversationEvent(event)).toBe(true);
        expect(JSON.stringify(reduceConversationEvents(createConversationState(), all))).toBe(
          JSON.stringify(stateAfter(...all)),
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('the reducer is pure', () => {
  test('deep-frozen states and events are never changed', () => {
    fc.assert(
      fc.property(events, (all) => {
        let state = deepFreeze(createConversationState());
        for (const event of all) {
          const before = JSON.stringify(state);
          const next = reduceConversation(state, deepFreeze(event));
          expect(JSON.stringify(state)).toBe(before);
          state = deepFreeze(next);
        }
      }),
      RUNS,
    );
  });

  test('a later reduction never changes an earlier state, and branches are independent', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyEvent, fc.nat(60)), { maxLength: 60 }), (steps) => {
        const states = [createConversationState()];
        const texts = [JSON.stringify(states[0])];
        for (const [event, from] of steps) {
          const origin = states[from % states.length] ?? createConversationState();
          const next = reduceConversation(origin, event);
          const alone = reduceConversation(JSON.parse(JSON.stringify(origin)), event);
          expect(plain(next)).toEqual(plain(alone));
          states.push(next);
          texts.push(JSON.stringify(next));
        }
        expect(states.map((state) => JSON.stringify(state))).toEqual(texts);
      }),
      { numRuns: 500 },
    );
  });

  test('a state can be reduced while its blocks are iterated', () => {
    const before = stateAfter(
      ...Array.from({ length: 100 }, (_, i) => upsert(text(`b${i}`, 'old', { status: 'pending' }))),
    );
    let state = before;
    const seen: unknown[] = [];
    for (const block of before.blocks) {
      for (let i = 0; i < 100; i++)
        state = reduceConversation(state, upsert(text(`b${i}`, `new ${i} ${block.id}`, { status: 'pending' })));
      seen.push('content' in block && block.content);
    }
    expect(new Set(seen)).toEqual(new Set(['old']));
    expect(state.blocks.at(-1)).toMatchObject({ content: 'new 99 b99' });
    const mapped = before.blocks.map((block, i) => {
      state = reduceConversation(state, upsert(text(`b${99 - i}`, 'newer', { status: 'pending' })));
      return 'content' in block && block.content;
    });
    expect(new Set(mapped)).toEqual(new Set(['old']));
  });
});

/** Subagents as a tree of ids, without what depends on the order of arrival. */
function shape(node: ThreadNode): unknown {
  const shown = node.blocks.filter((block) => block.type === 'subagent').map((block) => `${block.id} ${block.status}`);
  return {
    id: node.conversationId,
    status: node.subagent?.status,
    output: node.subagent?.output,
    agentId: node.subagent?.agentId,
    shown: shown.sort(),
    blocks: node.blocks.map((block) => block.id).sort(),
    children: node.children.map(shape).sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
  };
}

test('D39 to D41: shuffled subagent events that name their tool use id give the same tree and statuses', () => {
  const agents = fc.array(
    fc.record({
      parent: fc.nat(8),
      named: fc.boolean(),
      linked: fc.constantFrom('never', 'by the spawn', 'by the completion', 'by both'),
      end: fc.constantFrom(undefined, 'completed' as const, 'error' as const, 'failed' as const),
      addressed: fc.boolean(),
      blocks: fc.nat(2),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const scenario = agents.chain((list) => {
    const all: ConversationEvent[] = list.flatMap((agent, i) => {
      const id = `t${i}`;
      const parent = agent.parent < i ? `t${agent.parent}` : 'main';
      const bySpawn = agent.linked === 'by the spawn' || agent.linked === 'by both';
      const byCompletion = agent.linked === 'by the completion' || agent.linked === 'by both';
      const end =
        agent.end &&
        completed(id, {
          conversationId: parent,
          status: agent.end,
          output: `from ${id}`,
          ...(byCompletion && { agentId: `agent-a${i}` }),
        });
      if (end && !agent.addressed) delete (end as { conversationId?: string }).conversationId;
      return [
        spawned(id, {
          conversationId: parent,
          ...(agent.named && { prompt: 'go', subagentType: 'x' }),
          ...(bySpawn && { agentId: `a${i}` }),
        }),
        ...Array.from({ length: agent.blocks }, (_, n) => upsert(text(`b${n}`, 'said'), id)),
        ...(end ? [end] : []),
      ];
    });
    return fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }));
  });
  fc.assert(
    fc.property(scenario, ([ordered, shuffled]) => {
      expect(shape(threadTree(stateAfter(...shuffled)))).toEqual(shape(threadTree(stateAfter(...ordered))));
    }),
    { numRuns: 3000 },
  );
});
