/** Damaged transcripts and streams: none throws, none hangs, each ends as a valid conversation. `npm run fuzz` tries many more. */
import { describe, expect, test } from 'vitest';
import { transcriptToEvents } from '../../src/transcripts/parse-transcript.ts';
import { type Random, randomFrom, SEED, seedOf } from '../support/random.ts';
import { ARCHITECTURES, damagedText, fuzzStream, fuzzTranscript } from './fuzz-targets.ts';
import { CLAUDE_LINES } from './mutations.ts';

/** Long, so that only a conversion that hangs reaches it. */
const TIMEOUT = 300_000;

/** Runs a body for many seeds; the error names the seed that failed. */
function fuzz(count: number, body: (random: Random) => void): void {
  for (let index = 0; index < count; index++) {
    try {
      body(randomFrom(seedOf(SEED, index)));
    } catch (error) {
      throw new Error(`npm run fuzz -- --seed ${SEED} --from ${index} --count 1: ${String(error)}`, { cause: error });
    }
  }
}

describe('I10: damaged input never throws, and can be sent (I4)', () => {
  test.for(ARCHITECTURES)('2,000 transcripts of %s', { timeout: TIMEOUT }, (architecture) => {
    fuzz(2_000, (random) => fuzzTranscript(architecture, random));
  });

  test.for(ARCHITECTURES)('2,000 streams of %s', { timeout: TIMEOUT }, (architecture) => {
    fuzz(2_000, (random) => fuzzStream(architecture, random));
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
