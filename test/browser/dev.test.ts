/** `npm run dev`, as a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './support.ts';

const PROGRAM = join(import.meta.dirname, '../../scripts/dev.ts');

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test('npm run dev shows its sessions, also at the address of a view, and ends with Ctrl+C', async () => {
  const env = { ...process.env, NODE_ENV: undefined, VITEST: undefined };
  const child = spawn(process.execPath, [PROGRAM, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const ended = once(child, 'exit');
  try {
    const page = await browser.newPage();
    await page.goto(await addressIn(child.stdout));
    await page.locator('[data-entry]', { hasText: 'Fix the lock that is never free' }).waitFor();
    await page.locator('[data-entry]', { hasText: 'Codex' }).first().waitFor();
    await page.goto(new URL('sessions/lock-bug', page.url()).href);
    await page.locator('article', { hasText: 'a lock could be taken once' }).first().waitFor();
    child.kill('SIGINT'); // while the page reads its streams
    expect(await ended).toEqual([null, 'SIGINT']);
  } finally {
    child.kill('SIGKILL');
  }
});

async function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const [address] = /http:\S+/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error('it ended before it listened');
}
