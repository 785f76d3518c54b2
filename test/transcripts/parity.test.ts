import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { asObject } from '../../src/transcripts/json-access.ts';
import { openCodeStreamConverter } from '../../src/transcripts/opencode/stream-converter.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import type { StreamConverter } from '../../src/transcripts/stream-converter.ts';
import {
  claudeSession,
  claudeStream,
  type Line,
  linesOf,
  openCodeSession,
  openCodeStream,
  plain,
  stateOf,
  textOfLines,
} from './fixtures.ts';
import { comparable, EXEMPTIONS, type Exemption, withoutExemptLines } from './parity-exemptions.ts';

interface Pair {
  readonly folder: string;
  /** The streams of its runs, oldest first. */
  readonly runs: readonly string[];
  /** The stream holds only the last turn of the session. */
  readonly lastTurnOnly?: boolean;
}

const CLAUDE: readonly Pair[] = [
  ...['plain', 'thinking', 'tools', 'parallel', 'sub', 'nested', 'subbg', 'killmcp-both'].map((folder) => ({
    folder,
    runs: [folder],
  })),
  { folder: 'resume-killmcp', runs: ['killmcp-both', 'resume-killmcp'] },
  { folder: 'fork-killmcp', runs: ['killmcp-both', 'fork-killmcp'] },
  { folder: 'long-6', runs: ['long-6'], lastTurnOnly: true },
];

const OPENCODE: readonly Pair[] = [
  { folder: 'serve-tools', runs: ['serve-tools'] },
  { folder: 'serve-nested', runs: ['serve-nested'] },
  { folder: 'serve-resume-kill', runs: ['serve-kill', 'serve-resume-kill'] },
];

const now = (): string => '2030-01-01T00:00:00.000Z';

/** The state of a stream. The end of each run is reported or not: a killed host cannot report it. */
function streamed(converter: StreamConverter, runs: readonly (readonly Line[])[], endsRuns = true): string {
  const events: ConversationEvent[] = [];
  runs.forEach((run, index) => {
    for (const message of run) events.push(...converter.push(message));
    if (endsRuns || index === runs.length - 1) events.push(...converter.end());
  });
  return JSON.stringify(plain(stateOf(events)));
}

function claudeSides(
  pair: Pair,
  exemptions: readonly Exemption[],
  endsRuns = true,
): { stream: string; transcript: string } {
  const filter = (text: string): string => textOfLines(withoutExemptLines(linesOf(text), exemptions));
  const { main, subagents } = claudeSession(pair.folder);
  const raw = {
    main: filter(pair.lastTurnOnly ? lastTurn(main) : main),
    subagents: pair.lastTurnOnly
      ? []
      : subagents.map((subagent) => ({ ...subagent, transcript: filter(subagent.transcript as string) })),
  };
  const runs = pair.runs.map((folder) => withoutExemptLines(claudeStream(folder), exemptions));
  const stream = streamed(claudeStreamConverter({ now }), runs, endsRuns);
  return {
    stream: comparable(JSON.parse(stream), exemptions),
    transcript: comparable(plain(parseTranscript('claude-sdk', raw).state), exemptions),
  };
}

/** A transcript from its last prompt on. */
function lastTurn(text: string): string {
  const lines = linesOf(text);
  const start = lines.findLastIndex((line) => line.type === 'user' && line.promptSource === 'sdk');
  return textOfLines(lines.slice(start));
}

describe('I8, D47: a stream and its transcript give the same conversation', () => {
  test.for(CLAUDE)('Claude Code: $folder', (pair) => {
    const { stream, transcript } = claudeSides(pair, EXEMPTIONS);
    expect(stream).toBe(transcript);
    expect(JSON.parse(stream).blocks.length).toBeGreaterThan(0);
  });

  test.for(CLAUDE.filter(({ runs }) => runs.length > 1))(
    'Claude Code: $folder, when the end of the first run was not reported',
    (pair) => {
      const { stream, transcript } = claudeSides(pair, EXEMPTIONS, false);
      expect(stream).toBe(transcript);
    },
  );

  test.for(OPENCODE.flatMap((pair) => [true, false].map((endsRuns) => ({ ...pair, endsRuns }))))(
    'OpenCode, without any exemption: $folder, ends reported: $endsRuns',
    ({ folder, runs, endsRuns }) => {
      const stream = streamed(
        openCodeStreamConverter({ now }),
        runs.map((run) => openCodeStream(run)),
        endsRuns,
      );
      const transcript = plain(parseTranscript('opencode', openCodeSession(folder)).state);
      expect(JSON.parse(stream)).toEqual(transcript);
      expect(stream).toBe(JSON.stringify(transcript));
      expect(transcript.blocks.length).toBeGreaterThan(0);
    },
  );

  test('the subagents of both agents keep their nesting', () => {
    const parents = (state: ReturnType<typeof plain>): unknown[] =>
      state.subagents.map((thread) => [thread.parentConversationId, thread.status]);
    const claude = plain(parseTranscript('claude-sdk', claudeSession('nested')).state);
    const opencode = plain(parseTranscript('opencode', openCodeSession('serve-nested')).state);
    expect(parents(claude)).toEqual([
      ['main', 'success'],
      [claude.subagents[0]?.toolUseId, 'success'],
    ]);
    expect(parents(opencode)).toEqual([
      ['main', 'success'],
      [opencode.subagents[0]?.toolUseId, 'success'],
    ]);
  });
});

describe('the exemptions of docs/parity.md', () => {
  test.for(EXEMPTIONS)('$name is needed', (exemption) => {
    const others = EXEMPTIONS.filter((other) => other !== exemption);
    const differing = CLAUDE.filter((pair) => {
      const { stream, transcript } = claudeSides(pair, others);
      return stream !== transcript;
    });
    expect(differing.map(({ folder }) => folder)).not.toEqual([]);
  });

  test('no line of the model is exempt, and of the results only those of the harness', () => {
    const files = CLAUDE.flatMap(({ folder }) => {
      const { main, subagents } = claudeSession(folder);
      return [main, ...subagents.map(({ transcript }) => transcript as string)];
    });
    const lines = [...files.flatMap(linesOf), ...CLAUDE.flatMap(({ folder }) => claudeStream(folder))];
    const exempt = lines.filter((line) => EXEMPTIONS.some((exemption) => exemption.line?.(line)));
    const said = exempt.filter((line) => line.type === 'assistant' && asObject(line.message)?.model !== '<synthetic>');
    const results = exempt.filter(
      (line) => JSON.stringify(line.message ?? '').includes('"tool_result"') && line.toolDenialKind === undefined,
    );
    expect(exempt.length).toBeGreaterThan(10);
    expect(said).toEqual([]);
    expect(results).toEqual([]);
  });
});
