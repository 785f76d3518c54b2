/**
 * A made-up agent, added the way ARCHITECTURE.md describes: a format and a source. Its lists are copies of the real ones with one more line:
 * the functions under test are those that the public ones call with the real lists, and the types say that the real lists need the line.
 */
import { extname, join } from 'node:path';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { ConversationBlock } from '../../src/conversation/blocks.ts';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { findWith } from '../../src/importers/find-transcripts.ts';
import { importWith } from '../../src/importers/kept/import-transcripts.ts';
import { restoreTranscript } from '../../src/importers/kept/restore-transcript.ts';
import { loadWith } from '../../src/importers/load-transcript.ts';
import { readWith } from '../../src/importers/read-transcript.ts';
import { readText } from '../../src/importers/safe-files.ts';
import { readLoaded, type TranscriptSource } from '../../src/importers/transcript-source.ts';
import { defaultRoots, TRANSCRIPT_SOURCES, type TranscriptSources } from '../../src/importers/transcript-sources.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Architecture } from '../../src/transcripts/agent-names.ts';
import { blockBase } from '../../src/transcripts/block-base.ts';
import { BlockWriter } from '../../src/transcripts/block-writer.ts';
import { DiagnosticsCollector } from '../../src/transcripts/diagnostics.ts';
import { asObject, asText, parseJson } from '../../src/transcripts/json-access.ts';
import { MessageBuilder } from '../../src/transcripts/message-builder.ts';
import type { RawTranscript } from '../../src/transcripts/raw-transcript.ts';
import type { TranscriptFormat } from '../../src/transcripts/transcript-format.ts';
import { TRANSCRIPT_FORMATS, type TranscriptFormats } from '../../src/transcripts/transcript-formats.ts';
import { asks } from '../transcripts/claude-builders.ts';
import { openCodeSession, textOfLines } from '../transcripts/fixtures.ts';
import { folder, write } from './places.ts';

const HEADER = '# parrot';
const AT = '2026-01-01T00:00:00.000Z';

/** The lines after the header: `> ` starts what the user wrote, `< ` what the parrot wrote. */
function linesOf(raw: RawTranscript): readonly { readonly id: string; readonly role: string; readonly text: string }[] {
  const combined = typeof raw === 'string' ? asObject(parseJson(raw)) : raw;
  const main = asText(combined?.main) ?? (typeof raw === 'string' ? raw : '');
  const lines = main.split('\n').filter((line) => line !== '' && line !== HEADER);
  return lines.map((line, i) => ({ id: `line:${i}`, role: line.slice(0, 1), text: line.slice(2) }));
}

function blockOf(line: ReturnType<typeof linesOf>[number]): ConversationBlock | undefined {
  const base = blockBase(line.id, 'main', AT);
  if (line.role === '>') return { ...base, type: 'user_message', content: line.text };
  return line.role === '<' ? { ...base, type: 'assistant_text', content: line.text } : undefined;
}

const parrotFormat: TranscriptFormat = {
  detect: (main) => main.startsWith(HEADER),
  toEvents(raw) {
    const writer = new BlockWriter();
    const diagnostics = new DiagnosticsCollector();
    for (const line of linesOf(raw)) {
      diagnostics.count(line.role);
      const block = blockOf(line);
      if (block) writer.upsert(block);
      else diagnostics.problem('malformed-line', line.id);
    }
    return { events: writer.take(), diagnostics: diagnostics.report() };
  },
  toMessages(raw, options) {
    const builder = new MessageBuilder(options);
    for (const { id, role, text } of linesOf(raw)) {
      if (role === '>') builder.user(id, AT, [{ type: 'text', text }]);
      else if (role === '<') builder.addPart(id, AT, { type: 'text', text });
    }
    return builder.finish();
  },
  readFacts: (raw) => ({ title: linesOf(raw).find(({ role }) => role === '>')?.text }),
};

const parrotSource: TranscriptSource = {
  format: parrotFormat,
  defaultRoots: (env, home) => [env.PARROT_HOME ?? join(home, '.parrot')],
  innerFolders: ['feathers'],
  detect: async ({ kind, path }) => (kind === 'file' && extname(path) === '.parrot' ? { path } : undefined),
  startSearch:
    () =>
    async ({ kind, path }) =>
      kind === 'file' && extname(path) === '.parrot' ? [{ path, sessionId: 'polly', subagents: 0 }] : undefined,
  load: ({ path }) => readText(path),
  read: (...args) => readLoaded(parrotSource, ...args),
};

const SOURCES: TranscriptSources<Architecture | 'parrot'> = { parrot: parrotSource, ...TRANSCRIPT_SOURCES };
const FORMATS: TranscriptFormats<Architecture | 'parrot'> = { parrot: parrotFormat, ...TRANSCRIPT_FORMATS };

const TEXT = `${HEADER}\n> Hello?\n< Hello!\n`;
const FILES = {
  'a/chat.parrot': TEXT,
  'a/feathers/old.parrot': TEXT,
  'b/s.jsonl': textOfLines([asks('u', 'Hi')]),
  'c/export.json': openCodeSession('serve-nested').main as string,
};

describe('a third transcript format', () => {
  test('its sessions are found among those of the other agents, and its inner folders are skipped', async () => {
    const root = write(folder(), FILES);
    const found = await findWith(SOURCES, root);
    expect(found.map(({ architecture, path }) => [architecture, path.slice(root.length + 1)]).sort()).toEqual([
      ['claude-sdk', 'b/s.jsonl'],
      ['opencode', 'c/export.json'],
      ['parrot', 'a/chat.parrot'],
    ]);
  });

  test('loading returns the format’s name and a raw transcript that the format converts', async () => {
    const root = write(folder(), FILES);
    for (const [path, sessionId] of [
      [join(root, 'a/chat.parrot'), undefined],
      [root, 'polly'],
    ] as const) {
      const { architecture, raw } = await loadWith(SOURCES, path, sessionId === undefined ? {} : { sessionId });
      expect(architecture).toBe('parrot');
      const { format } = SOURCES[architecture];
      expect(format.toEvents(raw).events).toMatchObject([
        { block: { type: 'user_message', content: 'Hello?' } },
        { block: { type: 'assistant_text', content: 'Hello!' } },
      ]);
      expect(format.toMessages(raw, {}).map(({ role }) => role)).toEqual(['user', 'assistant']);
    }
  });

  test('reading yields the events of the loaded transcript, with its diagnostics', async () => {
    const path = join(write(folder(), { 'chat.parrot': `${TEXT}squawk\n` }), 'chat.parrot');
    const reading = readWith(SOURCES, path);
    const events: ConversationEvent[] = [];
    for await (const event of reading) events.push(event);
    const { raw } = await loadWith(SOURCES, path);
    expect({ events, diagnostics: reading.diagnostics }).toEqual(parrotFormat.toEvents(raw));
    expect(reading.diagnostics.problems).toEqual([{ code: 'malformed-line', count: 1, where: ['line:2'] }]);
  });

  test('a combined file is read in the format that detects its main text', async () => {
    const combined = (main: string): string => JSON.stringify({ main, subagents: [] });
    const root = write(folder(), {
      'parrot.json': combined(TEXT),
      'claude.json': combined(FILES['b/s.jsonl']),
      'opencode.json': combined(FILES['c/export.json']),
    });
    const architectures = ['parrot', 'claude', 'opencode'].map(
      async (name) => (await loadWith(SOURCES, join(root, `${name}.json`))).architecture,
    );
    expect(await Promise.all(architectures)).toEqual(['parrot', 'claude-sdk', 'opencode']);
  });

  test('its sessions are imported into a store and restored as they were, like those of the other agents', async () => {
    const store = memoryStore();
    const root = write(folder(), FILES);
    expect(await importWith(SOURCES, store, { paths: [root] })).toMatchObject({ sessions: 3, problems: [] });
    expect(await importWith(SOURCES, store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 3 });
    const path = join(folder(), 'chat.parrot');
    expect(await restoreTranscript(store, 'parrot:polly', path)).toEqual([path]);
    expect(await readText(path)).toBe(TEXT);
  });

  test('its usual folders are imported beside those of the other agents', () => {
    const roots = defaultRoots(SOURCES, {}, '/home/ada');
    expect(roots).toEqual(['/home/ada/.parrot', ...defaultRoots(TRANSCRIPT_SOURCES, {}, '/home/ada')]);
    expect(defaultRoots(SOURCES, { PARROT_HOME: '/aviary' }, '/home/ada')).toContain('/aviary');
  });

  test('its facts are read by its format', () => {
    expect(FORMATS.parrot.readFacts(TEXT)).toEqual({ title: 'Hello?' });
  });

  test('every source has the format of its agent', () => {
    for (const [agent, { format }] of Object.entries(SOURCES))
      expect(format).toBe(FORMATS[agent as keyof typeof FORMATS]);
  });

  test('lists of sources and formats that lack a named agent do not compile', () => {
    expectTypeOf(TRANSCRIPT_FORMATS).not.toExtend<TranscriptFormats<Architecture | 'parrot'>>();
    expectTypeOf(FORMATS).toExtend<TranscriptFormats<Architecture | 'parrot'>>();
    expectTypeOf(TRANSCRIPT_SOURCES).toExtend<TranscriptSources>();
    expectTypeOf(TRANSCRIPT_SOURCES).not.toExtend<TranscriptSources<Architecture | 'parrot'>>();
    expectTypeOf(SOURCES).toExtend<TranscriptSources<Architecture | 'parrot'>>();
  });
});
