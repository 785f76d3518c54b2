/** The workers page of Studio: which process runs which session, and what workers gave up on. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';
import { giveUp } from './studio/give-up.ts';
import { StudioHost } from './studio/studio-host.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

test('the sidebar names the workers only when they have something to do', async () => {
  const page = await host.open(browser, 'workers');
  await page.getByText('No session is run, and none waits to be run.').waitFor();
  await page.goto(host.page());
  await page.getByRole('link', { name: 'Inbox' }).waitFor();
  await page.getByRole('link', { name: 'Workers' }).waitFor({ state: 'detached' });
  host.commands.close();
  host.script('Walk', [{ toolCalls: [{ name: 'Bash', arguments: { command: 'walk' } }] }, 'I walked.']);
  await host.send('walk', 'Walk');
  await page.reload();
  await page.getByRole('link', { name: 'Workers' }).click();
  const running = page.getByLabel('Running').getByRole('listitem');
  await running.getByText(`process ${process.pid} on`).waitFor();
  await running.getByText('lease for').waitFor();
  host.commands.open();
  await host.reaches('walk', 'completed');
  await running.waitFor({ state: 'detached' });
  await page.close();
});

test('a session that workers gave up on is tried again', async () => {
  await giveUp(host, 'given-up');
  const page = await host.open(browser, 'workers');
  const entry = page.getByLabel('Given up').getByRole('listitem');
  await entry.getByText('Its tools could not be loaded.').waitFor();
  await entry.getByText('after 5 failed attempts').waitFor();
  await entry.getByRole('button', { name: 'Try again' }).click();
  await entry.waitFor({ state: 'detached' });
  await host.reaches('given-up', 'completed');
  await page.close();
});
