/** The first program of README.md runs as it is written, and its second run repeats nothing. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createAdapter, definePrompt, openSession, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { compilerProblems, examplesIn, withSources } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-readme-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const page = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

const screen = readFileSync(join(import.meta.dirname, '../../docs/conversation.md'), 'utf8');

test('the programs of README.md and of docs/conversation.md compile', () => {
  const programs = [...examplesIn(page), ...examplesIn(screen)].filter((example) =>
    /^\/\/ [a-z-]+\.mts$/m.test(example),
  );
  expect(programs).toHaveLength(3);
  expect(compilerProblems(directory, programs)).toBe('');
});

test('the first agent calls its tool and responds; run again, it returns the recorded response without the tool', () => {
  const [program] = examplesIn(page).filter((example) => example.startsWith('// first-agent.mts'));
  writeFileSync(join(directory, 'first-agent.mts'), withSources(program ?? ''));
  const run = () =>
    execFileSync(process.execPath, ['--no-warnings', 'first-agent.mts'], { cwd: directory, encoding: 'utf8' });
  expect(run()).toBe('looking up Lisbon\ncompleted Clear in Lisbon.\n');
  expect(run()).toBe('completed Clear in Lisbon.\n');
});

test('the program of docs/conversation.md shows a conversation that was recorded', async () => {
  const store = await sqliteStore(join(directory, 'chat.db'));
  const session = await openSession({ store, id: 'ada' });
  const prompt = definePrompt({ ns: 'chat', key: 'assistant', instructions: '' });
  await session.send('Hello');
  await createAdapter({ model: scriptedModel(['Good day.']) }).run(prompt, { session });
  await store.close();
  writeFileSync(join(directory, 'watch.mts'), withSources(examplesIn(screen)[0] ?? ''));
  const child = spawn(process.execPath, ['--no-warnings', 'watch.mts', 'ada'], { cwd: directory });
  let shown = '';
  for await (const piece of child.stdout) {
    shown += piece;
    if (shown.includes('assistant_text: Good day.')) break;
  }
  child.kill();
  expect(shown).toContain('user_message: Hello');
});
