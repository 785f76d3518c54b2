import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { usageTotals } from '../../src/conversation/selectors.ts';
import { codexStreamConverter } from '../../src/transcripts/codex/stream-converter.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import {
  CODEX_CAPTURES,
  type CodexCapture,
  codexSession,
  codexStreams,
  rolloutNames,
  rolloutText,
} from './codex-fixtures.ts';
import { CODEX_EXEMPTIONS, type CodexExemption, comparable, withoutExemptLines } from './codex-parity-exemptions.ts';
import { linesOf, plain, stateOf, textOfLines } from './fixtures.ts';

/** Of `fork`, the streams are those of two threads: the original's, the fork's, and the original's again. */
const PAIRS = CODEX_CAPTURES.filter(({ place, folder }) => place === 'sessions' && folder !== 'fork');

function streamed(runs: ReturnType<typeof codexStreams>, endsRuns = true): ConversationEvent[] {
  const converter = codexStreamConverter({ now: () => '2030-01-01T00:00:00.000Z' });
  return runs.flatMap((run, index) => {
    const events = run.flatMap((message) => converter.push(message));
    return endsRuns || index === runs.length - 1 ? [...events, ...converter.end()] : events;
  });
}

function rolloutSide(text: string, exemptions: readonly CodexExemption[]): string {
  const lines = withoutExemptLines(linesOf(text), exemptions);
  return comparable(plain(parseTranscript('codex', textOfLines(lines)).state), exemptions);
}

function sides(
  capture: CodexCapture,
  exemptions: readonly CodexExemption[],
  endsRuns = true,
): { readonly stream: string; readonly rollout: string } {
  return {
    stream: comparable(plain(stateOf(streamed(codexStreams(capture), endsRuns))), exemptions),
    rollout: rolloutSide(codexSession(capture).main, exemptions),
  };
}

describe('I8, D47: a stream of Codex and its rollout give the same conversation', () => {
  test.for(PAIRS)('$version $folder', (capture) => {
    const { stream, rollout } = sides(capture, CODEX_EXEMPTIONS);
    expect(stream).toBe(rollout);
    expect(JSON.parse(stream).blocks.length).toBeGreaterThan(0);
  });

  test.for(PAIRS.filter((capture) => codexStreams(capture).length > 1))(
    '$version $folder, when the ends of processes were not reported',
    (capture) => {
      const { stream, rollout } = sides(capture, CODEX_EXEMPTIONS, false);
      expect(stream).toBe(rollout);
    },
  );

  test('fork: the streams of the original thread and of the fork', () => {
    const capture: CodexCapture = { version: '0.166.0', folder: 'fork', place: 'sessions' };
    const [first, forked, last] = codexStreams(capture);
    const original = rolloutText(capture, rolloutNames(capture)[0] as string);
    const text = (runs: ReturnType<typeof codexStreams>): string =>
      comparable(plain(stateOf(streamed(runs))), CODEX_EXEMPTIONS);
    expect(text([first ?? [], last ?? []])).toBe(rolloutSide(original, CODEX_EXEMPTIONS));
    expect(text([forked ?? []])).toBe(rolloutSide(codexSession(capture).main, CODEX_EXEMPTIONS));
  });

  test('the usage of all turns is that of all responses, though the stream reports totals', () => {
    for (const capture of PAIRS.filter(({ folder }) => folder !== 'kill-tool')) {
      const { main } = codexSession(capture);
      const rollout = usageTotals(parseTranscript('codex', main).state).usage;
      const stream = usageTotals(stateOf(streamed(codexStreams(capture)))).usage;
      expect([capture.folder, stream.inputTokens, stream.outputTokens]).toEqual([
        capture.folder,
        rollout.inputTokens,
        rollout.outputTokens,
      ]);
    }
  });
});

describe('the exemptions of docs/parity.md', () => {
  test.for(CODEX_EXEMPTIONS)('$name is needed', (exemption) => {
    const others = CODEX_EXEMPTIONS.filter((other) => other !== exemption);
    const differing = PAIRS.filter((capture) => {
      const { stream, rollout } = sides(capture, others);
      return stream !== rollout;
    });
    expect(differing).not.toEqual([]);
  });

  test('no text and no thought of the model is exempt', () => {
    const lines = PAIRS.flatMap((capture) => {
      const all = linesOf(codexSession(capture).main);
      const kept = new Set(withoutExemptLines(all, CODEX_EXEMPTIONS));
      return all.filter((line) => !kept.has(line));
    });
    const said = lines.filter((line) => {
      const payload = line.payload as Record<string, unknown>;
      const isSummary = (line.metadata as Record<string, unknown> | undefined)?.compaction_output === true;
      return (payload.role === 'assistant' && !isSummary) || payload.type === 'reasoning';
    });
    expect(lines.length).toBeGreaterThan(50);
    expect(said).toEqual([]);
  });
});
