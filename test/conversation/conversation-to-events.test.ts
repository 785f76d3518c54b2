import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conversationToEvents, isConversationEvent, type SessionConversationState } from '../../src/conversation.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { claudeSession, fixture, openCodeSession, realSession } from '../transcripts/fixtures.ts';
import { anyEvent } from './arbitraries.ts';
import { stateAfter } from './builders.ts';

/** The state again, from its events. */
function again(state: SessionConversationState): SessionConversationState {
  const events = conversationToEvents(state);
  for (const event of events) expect(isConversationEvent(event)).toBe(true);
  return stateAfter(...events);
}

describe('a state that is converted to events and reduced again is the same state', () => {
  test('after any events', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const state = stateAfter(...events);
        expect(JSON.stringify(again(state))).toBe(JSON.stringify(state));
      }),
      { numRuns: 1000 },
    );
  });

  test.for([
    ...['nested', 'subbg', 'parallel', 'fork-killmcp', 'long-6'].map(
      (folder) => [folder, 'claude-sdk', claudeSession(folder)] as const,
    ),
    ['the real session', 'claude-sdk', realSession()] as const,
    ['progress lines', 'claude-sdk', fixture('claude-code-2.1.38', 'subagent.jsonl.gz')] as const,
    ...['serve-nested', 'serve-resume-kill', 'sub'].map(
      (folder) => [folder, 'opencode', openCodeSession(folder)] as const,
    ),
  ])('%s', ([, architecture, raw]) => {
    const { state } = parseTranscript(architecture, raw);
    expect(JSON.stringify(again(state))).toBe(JSON.stringify(state));
  });
});
