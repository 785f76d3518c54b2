/** The program of docs/server.md serves: `serve.mts` responds to what is sent, and streams it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { programIn, withSources } from '../support/documents.ts';
import { JSON_HEADERS, readUntil, sseMessages } from './support.ts';

test('docs/server.md: serve.mts runs what is sent to it, and streams the response', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-serve-'));
  writeFileSync(join(directory, 'serve.mts'), withSources(programIn('docs/server.md', 'serve.mts')));
  const child = spawn(process.execPath, ['--no-warnings', 'serve.mts'], {
    cwd: directory,
    env: { ...process.env, PORT: '0', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  const { value: url } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const body = JSON.stringify({ id: 'm1', input: 'Hello' });
  const sent = await fetch(`${url}/sessions/ada/inputs`, { method: 'POST', headers: JSON_HEADERS, body });
  expect(sent.status).toBe(202);
  const messages = sseMessages(await fetch(`${url}/sessions/ada/stream`));
  const read = await readUntil(messages, ({ data }) => data?.includes('evaluation/completed') === true);
  expect(read.some(({ data }) => data?.includes('I have read 1 messages.'))).toBe(true);
});
