/** 64,000 damaged transcripts and streams: none throws, none hangs, and each ends as a valid conversation. */
import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { isConversationEvent } from '../../src/conversation/is-conversation-event.ts';
import type { SessionConversationState } from '../../src/conversation/state.ts';
import { checkCoherence } from '../../src/history/coherence.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { openCodeStreamConverter } from '../../src/transcripts/opencode/stream-converter.ts';
import { transcriptToEvents, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { StreamConverter } from '../../src/transcripts/stream-converter.ts';
import { type Line, stateOf, textOfLines } from './fixtures.ts';
import {
  CLAUDE_LINES,
  CLAUDE_STREAM,
  mutateText,
  mutateValue,
  OPENCODE_MESSAGES,
  OPENCODE_STREAM,
  pick,
  type Random,
  randomFrom,
  someLines,
} from './mutations.ts';

/** Long, so that only a conversion that hangs reaches it. */
const TIMEOUT = 300_000;

/** Runs a body for many seeds; the error names the seed that failed. */
function fuzz(count: number, body: (random: Random) => void): void {
  for (let seed = 1; seed <= count; seed++) {
    try {
      body(randomFrom(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
}

/** Checks what holds for every conversation that has ended. */
function checkState(events: readonly ConversationEvent[]): void {
  for (const event of events) if (!isConversationEvent(event)) throw new Error(`no event: ${JSON.stringify(event)}`);
  const state: SessionConversationState = stateOf(events);
  for (const thread of [state.blocks, ...state.subagents.map(({ blocks }) => blocks)]) {
    const ids = new Set<string>();
    for (const { id, status, type } of thread) {
      if (ids.has(id)) throw new Error(`two blocks ${id}`);
      ids.add(id);
      if (status === 'pending' && type !== 'subagent') throw new Error(`${type} ${id} never ended`);
    }
  }
  JSON.stringify(state); // no value in it is too deep for that
}

function damagedLines(random: Random, pool: readonly Line[]): Line[] {
  return someLines(random, pool, 5).map((line) => (random() < 0.5 ? (mutateValue(random, line) as Line) : line));
}

function damagedText(random: Random, pool: readonly Line[]): string {
  const text = textOfLines(damagedLines(random, pool));
  return random() < 0.5 ? mutateText(random, text) : text;
}

function damagedExport(random: Random): string {
  const exported: unknown = { info: { id: 'ses_1' }, messages: someLines(random, OPENCODE_MESSAGES, 3) };
  let damaged = exported;
  for (let times = Math.floor(random() * 4); times > 0; times--) damaged = mutateValue(random, damaged);
  const text = JSON.stringify(damaged);
  return random() < 0.2 ? mutateText(random, text) : text;
}

function pushAll(converter: StreamConverter, random: Random, pool: readonly Line[]): ConversationEvent[] {
  const events = damagedLines(random, pool).flatMap((line) => converter.push(line));
  if (random() < 0.3) events.push(...converter.end(), ...converter.push(pick(random, pool)));
  return [...events, ...converter.end(pick(random, [undefined, 'completed', 'interrupted', 'failed'] as const))];
}

describe('I10: damaged input never throws', () => {
  test('22,000 files of Claude Code', { timeout: TIMEOUT }, () => {
    fuzz(22_000, (random) => {
      const main = damagedText(random, CLAUDE_LINES);
      const subagents =
        random() < 0.3
          ? [
              {
                id: 'agent-x',
                transcript: damagedText(random, CLAUDE_LINES),
                meta: mutateValue(random, { toolUseId: 't' }),
              },
            ]
          : [];
      checkState(transcriptToEvents('claude-sdk', random() < 0.5 ? main : { main, subagents }).events);
    });
  });

  test('12,000 streams of the Claude Agent SDK', { timeout: TIMEOUT }, () => {
    fuzz(12_000, (random) => checkState(pushAll(claudeStreamConverter(), random, CLAUDE_STREAM)));
  });

  test('12,000 exports of OpenCode', { timeout: TIMEOUT }, () => {
    fuzz(12_000, (random) => {
      const main = damagedExport(random);
      const raw = random() < 0.6 ? main : { main, subagents: [{ id: 'ses_2', transcript: damagedExport(random) }] };
      checkState(transcriptToEvents('opencode', raw).events);
    });
  });

  test('12,000 streams of OpenCode', { timeout: TIMEOUT }, () => {
    fuzz(12_000, (random) => checkState(pushAll(openCodeStreamConverter(), random, OPENCODE_STREAM)));
  });

  test('6,000 of them convert to coherent messages (I4)', { timeout: TIMEOUT }, () => {
    fuzz(6_000, (random) => {
      const messages =
        random() < 0.6
          ? transcriptToMessages('claude-sdk', damagedText(random, CLAUDE_LINES))
          : transcriptToMessages('opencode', damagedExport(random));
      const { violations } = checkCoherence(messages);
      if (violations.length > 0) throw new Error(JSON.stringify(violations));
    });
  });

  test('the damage is real: most inputs differ from their lines, and many still have blocks', () => {
    let differing = 0;
    let speaking = 0;
    fuzz(500, (random) => {
      const lines = damagedText(random, CLAUDE_LINES);
      const { events, diagnostics } = transcriptToEvents('claude-sdk', lines);
      if (diagnostics.problems.length > 0 || Object.keys(diagnostics.unknown).length > 0) differing++;
      if (events.some(({ type }) => type === 'block:upsert')) speaking++;
    });
    expect(differing).toBeGreaterThan(100);
    expect(speaking).toBeGreaterThan(250);
  });
});
