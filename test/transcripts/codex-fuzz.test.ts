/** Damaged captures of Codex, whole sessions: `fuzz-targets.ts` has those of a few lines, and the streams. */
import { describe, expect, test } from 'vitest';
import { transcriptToEvents, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { CombinedTranscript } from '../../src/transcripts/raw-transcript.ts';
import { type Random, randomFrom, SEED, seedOf } from '../support/random.ts';
import { CODEX_CAPTURES, codexSession, RolloutBuilder } from './codex-fixtures.ts';
import { type Line, linesOf, stateOf, textOfLines } from './fixtures.ts';
import { checkTranscript } from './fuzz-targets.ts';
import { mutateText, mutateValue, pick } from './mutations.ts';

const SESSIONS: readonly CombinedTranscript[] = CODEX_CAPTURES.map(codexSession);

/** Runs a body for many seeds; the error names the seed that failed. */
function fuzz(count: number, body: (random: Random) => void): void {
  for (let index = 0; index < count; index++) {
    try {
      body(randomFrom(seedOf(SEED, index)));
    } catch (error) {
      throw new Error(`SEED=${SEED}, input ${index}: ${String(error)}`, { cause: error });
    }
  }
}

const shuffled = (random: Random, lines: readonly Line[]): Line[] =>
  lines
    .map((line) => ({ line, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ line }) => line);

/** A whole rollout, damaged: lines changed, doubled, lost, moved, or its text cut and flipped. */
function damage(random: Random, text: string): string {
  const lines = linesOf(text).flatMap((line) => {
    const how = random();
    if (how < 0.05) return [];
    if (how < 0.1) return [line, line];
    return how < 0.25 ? [mutateValue(random, line) as Line] : [line];
  });
  const how = random();
  const arranged = textOfLines(how < 0.1 ? shuffled(random, lines) : lines);
  return how < 0.5 ? arranged : mutateText(random, arranged);
}

function damagedSession(random: Random): CombinedTranscript {
  const { main, subagents } = pick(random, SESSIONS);
  return {
    main: damage(random, main as string),
    subagents: subagents.map(({ id, transcript }) => ({ id, transcript: damage(random, transcript as string) })),
  };
}

describe('I10: damaged input of Codex never throws', () => {
  test('1,500 damaged captures are valid conversations that have ended, and their messages can be sent', {
    timeout: 300_000,
  }, () => {
    fuzz(1500, (random) => {
      const raw = damagedSession(random);
      checkTranscript('codex', random, raw);
      for (const { status, toolUseId } of stateOf(transcriptToEvents('codex', raw).events).subagents) {
        if (status !== 'success' && status !== 'error') throw new Error(`subagent ${toolUseId} never ended`);
      }
    });
  });

  test('the damage is real: most sessions have problems or unknown types, and most still have blocks', () => {
    let damaged = 0;
    let speaking = 0;
    fuzz(100, (random) => {
      const { events, diagnostics } = transcriptToEvents('codex', damagedSession(random));
      if (diagnostics.problems.length > 0 || Object.keys(diagnostics.unknown).length > 0) damaged++;
      if (events.some(({ type }) => type === 'block:upsert')) speaking++;
    });
    expect(damaged).toBeGreaterThan(70);
    expect(speaking).toBeGreaterThan(80);
  });
});

describe('cost', () => {
  test('a line of 10 MB and forty thousand lines are converted', { timeout: 60_000 }, () => {
    const builder = new RolloutBuilder().prompt('Go').says('x'.repeat(10_000_000));
    for (let i = 0; i < 20_000; i++) builder.calls(`c${i}`).returns(`c${i}`, 'ok');
    const { events } = transcriptToEvents('codex', builder.text);
    expect(events.filter(({ type }) => type === 'block:upsert').length).toBeGreaterThan(40_000);
    expect(transcriptToMessages('codex', builder.text)).toHaveLength(40_001);
  });
});
