/** `holdfast demo` as a new user sees it: Studio in the browser, the Kill button, and the agent that continues. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { executionsIn, mailsIn } from '../../examples/demo/workspace.ts';
import { RunningCommand } from '../cli/running-command.ts';
import { launch } from './support.ts';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-browser-demo-'));
const workspace = join(dir, 'killed', 'workspace');
let browser: Browser;
let demo: RunningCommand;
beforeAll(async () => {
  browser = await launch();
  demo = new RunningCommand(['demo', '--port', '0', '--dir', dir], { isTerminal: true });
});
afterAll(async () => {
  await demo?.stop();
  await browser?.close();
  rmSync(dir, { recursive: true, force: true });
});

test('Studio shows the demo live, Kill kills the agent, and the next process continues without repeating a call', async () => {
  const page = await browser.newPage();
  const failures: string[] = [];
  page.on('pageerror', (error) => failures.push(error.message));
  await page.goto((await demo.address()).href);
  const header = page.getByRole('status').filter({ hasText: 'process' });
  const kill = page.getByRole('button', { name: 'Kill', exact: true });

  // The demo's own kills.
  await page.getByText('Please file my expenses').waitFor();
  await header.filter({ hasText: /process \d+ was killed/ }).waitFor();
  await header.filter({ hasText: /\d+ was killed, resumed by process \d+/ }).waitFor();
  await page.getByText('This response was interrupted.').waitFor();
  await page.getByText('Have a good trip home.').waitFor();

  // The person's kill, in the middle of parallel tools and a subagent.
  await page.getByText('Plan a trip to Lisbon').waitFor();
  await page.getByText('asking 3 railways for trains to Lisbon').waitFor();
  await kill.click();
  await header.filter({ hasText: /process \d+ was killed/ }).waitFor();
  await header.filter({ hasText: /\d+ was killed, resumed by process \d+/ }).waitFor();

  // Nothing but the open calls is done again, and the job continues until a person is needed.
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Your trip to Lisbon is planned', { exact: false }).waitFor();
  await page.getByText('Kill it inside', { exact: false }).waitFor();
  await header.filter({ hasText: /process \d+ has ended/ }).waitFor();
  expect(await kill.count()).toBe(0);
  expect([...executionsIn(workspace).values()].filter((count) => count !== 1)).toEqual([]);
  expect(mailsIn(workspace)).toHaveLength(2);
  expect(readFileSync(join(workspace, 'itinerary.md'), 'utf8')).toContain('Hotel: Casa do Rio');

  // A message from the composer starts a process again; killed while it writes, it says the same as if it had not been.
  await page.getByLabel('Message').fill('Who are you?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('I am a model of fixed rules', { exact: false }).waitFor();
  await kill.click();
  await page.getByText('With --model openai/gpt-5 a real model does the same work.', { exact: false }).waitFor();
  expect(await page.getByText('This response was interrupted.').count()).toBeGreaterThan(0);
  expect(failures).toEqual([]);
});
