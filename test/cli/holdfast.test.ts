import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { openSession, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';

const command = join(import.meta.dirname, '..', '..', 'src', 'cli', 'holdfast.ts');
const dir = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function holdfast(
  ...args: string[]
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  try {
    const options = { env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' } };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [command, ...args], options);
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

test('curate prints what a window would have sent, and only reads', async () => {
  const db = join(dir, 'curate.db');
  const store = await sqliteStore(db);
  const session = await openSession({ store, id: 'chat' });
  const prompt = definePrompt({ ns: 'test', key: 'chat', instructions: 'Chat.' });
  const adapter = createAdapter({ model: scriptedModel(['Yes.']) });
  for (const input of ['One?', 'Two?', 'Three?', 'Four?'])
    await adapter.evaluate(prompt, { session, input, continues: true });
  const { seq } = session;
  await store.close();

  const { code, stdout } = await holdfast('curate', 'chat', '--db', db, '--window', '2');
  expect(code).toBe(0);
  expect(stdout).toMatch(/passthrough +4 /);
  expect(stdout).toMatch(/sliding-window\(2\) +4 /);
  const reopened = await sqliteStore(db);
  expect((await reopened.head('chat')).seq).toBe(seq);
  await reopened.close();
});

test.for([
  [['curate'], 'the session is missing'],
  [['curate', 'nobody', '--db', 'no-such.db'], 'no-such.db'],
  [['curate', 'chat', '--window', 'many'], 'whole number'],
  [['curate', '--wat'], "Unknown option '--wat'"],
  [['dance'], 'there is no command "dance"'],
] as const)('I10: holdfast %o prints what is wrong and exits non-zero', async ([args, words]) => {
  const { code, stderr } = await holdfast(...args);
  expect(code).not.toBe(0);
  expect(stderr).toContain(words);
  expect(stderr).not.toContain('    at ');
});

test.for([
  ['\u001b]0;owned\u0007', '␛]0;owned␇'],
  ['curate', 'no such session', '--db', '\u001b[2J.db', '␛[2J.db'],
])('an argument is repeated without its control characters: %o', async (words) => {
  const { stderr } = await holdfast(...words.slice(0, -1));
  expect(stderr).toContain(words.at(-1));
  expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
});

test('the version is that of the package', async () => {
  const file = join(import.meta.dirname, '..', '..', 'package.json');
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  expect(await holdfast('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
});

test('help lists the commands', async () => {
  const { code, stdout } = await holdfast('--help');
  expect(code).toBe(0);
  expect(stdout).toContain('holdfast demo');
});
