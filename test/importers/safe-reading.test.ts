/** Importing reads the agents' own files and nothing else, and one bad file does not hide the others. */
import { chmodSync, copyFileSync, readdirSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SearchProblem } from '../../src/importers/transcript-source.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { findTranscripts, loadTranscript, readTranscript } from '../../src/transcripts.ts';
import { asks, call, says, text } from '../transcripts/claude-builders.ts';
import { textOfLines } from '../transcripts/fixtures.ts';
import { asNobody, folder, stateOfReading, write, writeDatabase } from './places.ts';

const main = textOfLines([asks('p', 'Go'), says('a', 'm', call('t', 'Agent', { prompt: 'Work' }))]);
const agent = (says_: string): string => textOfLines([says('x', 'n', text(says_), { agentId: 'x1' })]);
const SPARSE = 10 * 1024 ** 3;

/** What both ways of importing a session report. */
async function problemsOf(path: string): Promise<readonly unknown[]> {
  const { architecture, raw } = await loadTranscript(path);
  const loaded = parseTranscript(architecture, raw).diagnostics.problems;
  const reading = readTranscript(path);
  for await (const _ of reading);
  expect(reading.diagnostics.problems).toEqual(loaded);
  return loaded.map(({ code, where }) => [code, ...where]);
}

async function search(root: string): Promise<{ paths: string[]; problems: SearchProblem[] }> {
  const problems: SearchProblem[] = [];
  const found = await findTranscripts(root, { onProblem: (problem) => problems.push(problem) });
  return { paths: found.map(({ path }) => path.slice(root.length + 1)).sort(), problems };
}

describe('symbolic links do not lead out of a session', () => {
  const outside = (): string =>
    write(folder(), { 'subagents/agent-x1.jsonl': agent('secret'), 's.jsonl': agent('secret') });

  test.for([
    [
      'the folder of subagents',
      (root: string) => symlinkSync(join(outside(), 'subagents'), join(root, 's/subagents')),
      true,
    ],
    ['the folder of the session', (root: string) => symlinkSync(outside(), join(root, 's')), false],
  ] as const)('in place of %s', async ([, link, hasFolder]) => {
    const root = write(folder(), { 's.jsonl': main, ...(hasFolder && { 's/keep': '' }) });
    link(root);
    const { raw } = await loadTranscript(join(root, 's.jsonl'));
    expect(JSON.stringify(raw)).not.toContain('secret');
    expect(JSON.stringify(await stateOfReading(join(root, 's.jsonl')))).not.toContain('secret');
    expect(await findTranscripts(root)).toMatchObject([{ subagents: 0 }]);
  });

  test('in place of a session’s file or a project’s folder', async () => {
    const root = write(folder(), { 'projects/p/s.jsonl': main });
    symlinkSync(join(outside(), 's.jsonl'), join(root, 'projects/p/linked.jsonl'));
    symlinkSync(outside(), join(root, 'projects/linked'));
    expect((await search(root)).paths).toEqual(['projects/p/s.jsonl']);
  });

  test('in place of the log of OpenCode’s database', async () => {
    const root = folder();
    const path = writeDatabase(root);
    symlinkSync(join(outside(), 's.jsonl'), `${path}-wal`);
    await expect(loadTranscript(path, { sessionId: 'ses_x' })).rejects.toMatchObject({ name: 'HoldfastError' });
  });
});

describe('files that cannot be read', () => {
  const files = {
    'p/s.jsonl': main,
    'p/s/subagents/agent-x1.jsonl': agent('Hello'),
    'p/s/subagents/agent-x2.jsonl': agent('Hidden'),
    'p/old.jsonl': textOfLines([asks('o', 'Old', { sessionId: 'old' })]),
    'p/agent-beside.jsonl': textOfLines([says('b', 'k', text('Beside'), { sessionId: 'old', agentId: 'beside' })]),
    'q/t.jsonl': main,
  };

  test('a subagent’s file without permission is reported, and everything else is found and read', async () => {
    const root = write(folder(), files);
    chmodSync(root, 0o755);
    for (const name of ['p/s/subagents/agent-x2.jsonl', 'p/agent-beside.jsonl', 'q/t.jsonl'])
      chmodSync(join(root, name), 0);
    await asNobody(async () => {
      const { paths, problems } = await search(root);
      expect(paths).toEqual(['p/old.jsonl', 'p/s.jsonl']);
      expect(problems.map(({ code, path }) => [code, path.slice(root.length + 1)]).sort()).toEqual([
        ['unreadable', 'p/agent-beside.jsonl'],
        ['unreadable', 'p/s/subagents/agent-x2.jsonl'],
        ['unreadable', 'q/t.jsonl'],
      ]);
      const { raw } = await loadTranscript(join(root, 'p/s.jsonl'));
      expect(JSON.stringify(raw)).toContain('Hello');
      expect(await problemsOf(join(root, 'p/s.jsonl'))).toEqual([
        ['unreadable-file', 'agent-x2', 'agent-beside'],
        ['unlinked-subagent', 'x1'],
      ]);
      await expect(loadTranscript(join(root, 'q/t.jsonl'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      const reading = readTranscript(join(root, 'q/t.jsonl'))[Symbol.asyncIterator]();
      await expect(reading.next()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    });
  });

  test('without a listener, a search warns once', async () => {
    const root = write(folder(), files);
    chmodSync(root, 0o755);
    chmodSync(join(root, 'q'), 0);
    onTestFinished(() => chmodSync(join(root, 'q'), 0o755));
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    await asNobody(() => findTranscripts(root));
    expect(warn.mock.calls.map(([message]) => String(message))).toEqual([expect.stringContaining(join(root, 'q'))]);
  });

  test('a subagent’s file that is deleted while it is read ends there, with a report', async () => {
    const long = Array.from({ length: 300 }, (_, i) =>
      says(`x${i}`, `n${i}`, text('x'.repeat(2000)), { agentId: 'x1' }),
    );
    const root = write(folder(), { 's.jsonl': main, 's/subagents/agent-x1.jsonl': textOfLines(long) });
    const reading = readTranscript(join(root, 's.jsonl'));
    let count = 0;
    for await (const _ of reading) if (++count === 10) unlinkSync(join(root, 's/subagents/agent-x1.jsonl'));
    expect(count).toBeGreaterThan(60);
    expect(count).toBeLessThan(300);
    expect(reading.diagnostics.problems).toContainEqual({ code: 'unreadable-file', count: 1, where: ['x1'] });
  });

  test('names that are not UTF-8 are reported', async () => {
    const root = write(folder(), { 'p/s.jsonl': main, 'p/s/subagents/keep': '' });
    const odd = (folderName: string, name: string): void =>
      writeFileSync(
        Buffer.concat([Buffer.from(join(root, folderName, name)), Buffer.from([0xff, 0xfe]), Buffer.from('.jsonl')]),
        main,
      );
    odd('p', 'session-');
    odd('p/s/subagents', 'agent-');
    const { paths, problems } = await search(root);
    expect(paths).toEqual(['p/s.jsonl']);
    expect(problems.map(({ code, path }) => [code, dirname(path).slice(root.length + 1)]).sort()).toEqual([
      ['name-not-utf8', 'p'],
      ['name-not-utf8', 'p/s/subagents'],
    ]);
    expect(await problemsOf(join(root, 'p/s.jsonl'))).toEqual([['unreadable-file', expect.stringContaining('agent-')]]);
  });
});

describe('files of any size', () => {
  test('a sparse file of 10 GB hides no session, whatever its name', async () => {
    const names = [
      'big.jsonl',
      'agent-big.jsonl',
      's/subagents/agent-big.jsonl',
      'opencode.db',
      'x.export.json',
      'big.json',
    ];
    const root = write(folder(), { 's.jsonl': main, ...Object.fromEntries(names.map((name) => [name, ''])) });
    for (const name of names) truncateSync(join(root, name), SPARSE);
    const { paths, problems } = await search(root);
    expect(paths).toEqual(['s.jsonl']);
    expect(problems).toEqual([]);
  });

  test.for(['{"main":"', ''])('loading 10 GB that start with %j is a typed error', async (start) => {
    const root = write(folder(), { 'big.json': start, 'big.jsonl': start });
    for (const name of ['big.json', 'big.jsonl']) {
      truncateSync(join(root, name), SPARSE);
      await expect(loadTranscript(join(root, name))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  test('a last line over the limit, without its newline, is reported', async () => {
    const path = join(write(folder(), { 's.jsonl': main }), 's.jsonl');
    truncateSync(path, 100 * 1024 * 1024);
    const reading = readTranscript(path);
    for await (const _ of reading);
    expect(reading.diagnostics.problems).toEqual([{ code: 'line-too-long', count: 1, where: ['main:3'] }]);
  });

  test('a subagent’s file that is too large to load is left out, with a report', async () => {
    const root = write(folder(), { 's.jsonl': main, 's/subagents/agent-x1.jsonl': agent('Hello') });
    truncateSync(join(root, 's/subagents/agent-x1.jsonl'), SPARSE);
    const { raw } = await loadTranscript(join(root, 's.jsonl'));
    const { diagnostics, state } = parseTranscript('claude-sdk', raw);
    expect(diagnostics.problems).toEqual([{ code: 'unreadable-file', count: 1, where: ['x1'] }]);
    expect(state.blocks.length).toBe(2);
  });

  test('a database of which the header does not name the size is not copied when it is large', async () => {
    const path = writeDatabase(folder());
    const database = new DatabaseSync(path);
    database.exec('CREATE TABLE padding (x)');
    database.close();
    truncateSync(path, SPARSE); // the header names the size: only that is copied
    await expect(loadTranscript(path, { sessionId: 'ses_none' })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
    writeFileSync(path, 'SQLite format 3\0');
    truncateSync(path, SPARSE);
    await expect(loadTranscript(path, { sessionId: 'ses_none' })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  test('a session whose first line is longer than a sample is found, with its title and times', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(700_000) } };
    const first = asks('p', [text('Look at this'), image]);
    const last = says('a', 'm', text('x'.repeat(300_000)));
    const root = write(folder(), { 's.jsonl': textOfLines([first, last]) });
    expect(await findTranscripts(root)).toMatchObject([
      { sessionId: 's', title: 'Look at this', createdAt: first.timestamp, updatedAt: last.timestamp, messages: 2 },
    ]);
  });
});

describe('titles and counts', () => {
  test.for([
    '<teammate-message teammate_id="a">Stop</teammate-message>',
    '<bash-notification>x</bash-notification>',
    '<agent-notification>x</agent-notification>',
    '<ide_opened_file>a.ts</ide_opened_file>',
    '<ide_selection>a.ts</ide_selection>',
    '<user-prompt-submit-hook>x</user-prompt-submit-hook>',
    '<user-memory-input>x</user-memory-input>',
  ])('%s is no title', async (untyped) => {
    const root = write(folder(), {
      'a.jsonl': textOfLines([asks('u', untyped), { type: 'last-prompt', lastPrompt: untyped, sessionId: 's' }]),
      'b.jsonl': textOfLines([asks('u', untyped), asks('v', `${untyped}\nFix it`), asks('w', 'Typed')]),
    });
    const titles = new Map((await findTranscripts(root)).map(({ path, title }) => [path.slice(-7), title]));
    expect(titles.get('a.jsonl')).toBeUndefined();
    expect(['Fix it', 'Typed']).toContain(titles.get('b.jsonl'));
  });

  test('a session of commands alone is called after the first one', async () => {
    const command =
      '<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src</command-args>';
    const root = write(folder(), { 's.jsonl': textOfLines([asks('u', command)]) });
    expect(await findTranscripts(root)).toMatchObject([{ title: '/review src' }]);
  });

  test.for(['below', 'beside'])('threads that the program starts for itself are not counted: %s', async (layout) => {
    const place = layout === 'below' ? 's/subagents/' : '';
    const thread = (id: string, prompt: string): [string, string] => [
      `${place}agent-${id}.jsonl`,
      textOfLines([asks(`${id}-p`, prompt, { agentId: id, isSidechain: true })]),
    ];
    const threads = [
      thread('w1', 'Warmup'),
      thread('aprompt_suggestion-1', 'x'),
      thread('aside_question-1', 'x'),
      thread('x1', 'Work'),
    ];
    const root = write(folder(), { 's.jsonl': main, ...Object.fromEntries(threads) });
    expect(await findTranscripts(root)).toMatchObject([{ subagents: 1 }]);
  });
});

describe('OpenCode’s database is only read', () => {
  test('in a folder without permission to write, and with a log that was not written back', async () => {
    const root = folder();
    const path = writeDatabase(root);
    const writer = new DatabaseSync(path);
    writer.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;');
    writer.exec("UPDATE session SET title = 'Only in the log' WHERE parent_id IS NULL");
    onTestFinished(() => writer.close());
    const copy = folder();
    // Without the -shm, as after a crash.
    for (const file of [path, `${path}-wal`]) copyFileSync(file, join(copy, basename(file)));
    chmodSync(copy, 0o555);
    onTestFinished(() => chmodSync(copy, 0o755));
    const before = readdirSync(copy);
    const found = await asNobody(() => findTranscripts(copy));
    expect(new Set(found.map(({ title }) => title))).toEqual(new Set(['Only in the log']));
    const sessionId = found[0]?.sessionId ?? '';
    await asNobody(async () => {
      for await (const _ of readTranscript(join(copy, 'opencode.db'), { sessionId }));
      await loadTranscript(join(copy, 'opencode.db'), { sessionId });
    });
    expect(readdirSync(copy)).toEqual(before);
    expect(before).toEqual(['opencode.db', 'opencode.db-wal']);
  });

  test('the private copy is deleted, also when reading stops early or fails', async () => {
    const root = folder();
    const path = writeDatabase(root);
    const temporary = folder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const [session] = await findTranscripts(root);
    for await (const _ of readTranscript(path, { sessionId: session?.sessionId ?? '' })) break;
    await expect(loadTranscript(path, { sessionId: 'ses_none' })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
    writeFileSync(path, `SQLite format 3\0${'x'.repeat(5000)}`);
    await expect(loadTranscript(path, { sessionId: 'ses_none' })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(readdirSync(temporary)).toEqual([]);
  });
});
