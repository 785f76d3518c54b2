/** A conversation in Studio: live text, sending, steering, withdrawing, stopping, subagents, links, lost connections. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playScenes } from './studio/scenes.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows, say } from './studio/studio-page.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  await playScenes(host);
  host.script('Count', [Array.from({ length: 60 }, (_, i) => `${i + 1}`).join(' ')]);
  host.script('Begin', [
    { text: 'I begin.', toolCalls: [{ name: 'Bash', arguments: { command: 'npm test' } }] },
    'I have finished.',
  ]);
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

test('a response is shown while it is written, and the page stays at its end', async () => {
  host.words.close();
  await host.send('live', 'Count for me.');
  const page = await host.open(browser, 'sessions/live', { viewport: { width: 900, height: 300 } });
  const response = rows(page, 'assistant_text');
  host.words.pass(5);
  await response.getByText('1 2 3').waitFor();
  expect(await response.textContent()).not.toContain('20');
  const top = async (): Promise<number> => (await response.boundingBox())?.y ?? 0;
  const before = await top();
  host.words.pass(3);
  await response.getByText('6 7').waitFor();
  expect(await top()).toBe(before); // one line more or less does not move what is read
  host.words.open();
  await response.getByText('59 60').waitFor();
  const distance =
    'document.querySelector("[role=log]").scrollHeight - document.querySelector("[role=log]").scrollTop - document.querySelector("[role=log]").clientHeight';
  await expect.poll(() => page.evaluate(distance)).toBeLessThan(2);
  await page.close();
});

test('a message is sent with Enter, and what was typed stays when it is refused', async () => {
  await host.act('sessions/chat', { title: 'Chat' }, 'PATCH');
  const page = await host.open(browser, 'sessions/chat');
  await say(page, 'Good morning');
  await rows(page, 'assistant_text').getByText('I have read: Good morning').waitFor();
  await page.route('**/inputs', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'SESSION_BUSY', message: 'the session is busy' } } }),
  );
  await say(page, 'Again');
  await page.getByRole('alert').getByText('The session is busy.').waitFor();
  expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('Again');
  await page.close();
});

test('while the agent works, a message is queued and can be withdrawn into the field, a steer joins, and stop ends the work', async () => {
  host.commands.close();
  await host.send('work', 'Begin the work.');
  const page = await host.open(browser, 'sessions/work');
  const call = rows(page, 'tool_use');
  await call.getByText('12 passed').waitFor(); // what the command prints while it runs
  await say(page, 'Do this next');
  const queue = page.getByLabel('Queued messages');
  await queue.getByText('Do this next').waitFor();
  await queue.getByRole('button', { name: 'Withdraw' }).click();
  await queue.waitFor({ state: 'detached' });
  const field = page.getByLabel('Message', { exact: true });
  await expect.poll(() => field.inputValue()).toBe('Do this next');
  await say(page, 'Look at the tides first', 'Control+Enter');
  await queue.getByText('steers').waitFor();
  host.commands.open();
  await rows(page, 'user_message').getByText('Look at the tides first').waitFor();
  await host.reaches('work', 'completed');
  host.commands.close();
  await say(page, 'Begin again');
  await call.getByText('running').waitFor();
  await say(page, 'And then this');
  await queue.getByText('And then this').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect.poll(() => field.inputValue()).toBe('And then this'); // stopping has withdrawn it
  host.commands.open();
  await page.getByText('It was stopped').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await host.reaches('work', 'completed');
  await page.close();
});

test('subagents are nested where they were started, and a link opens the block inside', async () => {
  const page = await host.open(browser, 'sessions/lock-research');
  const subagents = rows(page, 'subagent');
  await subagents.filter({ hasText: 'lead' }).getByRole('button').first().click();
  await expect.poll(() => subagents.count()).toBe(3);
  await subagents.filter({ hasText: 'etcd' }).getByRole('button').first().click();
  const inner = rows(page, 'assistant_text').filter({ hasText: 'With leases' });
  await inner.waitFor();
  const href = await inner.getByRole('link', { name: 'Link to this block' }).getAttribute('href');
  await page.goto(new URL(href ?? '', host.url).href);
  await inner.waitFor();
  expect(await inner.getAttribute('class')).toContain('bg-accent-ground');
  await page.close();
});

test('calls are shown by their kind: diffs, terminals with colours, files with line numbers, lists, JSON', async () => {
  const page = await host.open(browser, 'sessions/lock-bug', { viewport: { width: 1280, height: 3000 } });
  const calls = rows(page, 'tool_use');
  await calls.first().waitFor();
  await page.evaluate(
    'for (const each of document.querySelectorAll("article details:not([open]) > summary")) each.click()',
  );
  await page.locator('.line-removed', { hasText: 'held' }).first().waitFor();
  await page.locator('.ansi-green', { hasText: '✓' }).first().waitFor();
  await page.locator('.numbered .line[data-line="14"]').waitFor();
  await page.getByText('Fix it and add a test').first().waitFor();
  await page.locator('[class^=code-string]').first().waitFor(); // colours are loaded later
  expect(await calls.filter({ hasText: 'the disk is full' }).innerText()).toContain('failed');
  await page.close();
});

test('a lost connection and a deleted session are said in a sentence', async () => {
  await host.act('sessions/short', { title: 'Short' }, 'PATCH');
  await host.send('short', 'Hello');
  await host.reaches('short', 'completed');
  const page = await host.open(browser, 'sessions/short');
  await rows(page, 'assistant_text').waitFor();
  await page.context().setOffline(true);
  const { port } = new URL(host.url);
  await host.closeServer();
  await page.getByText('The connection to the server is lost.').waitFor();
  await page.context().setOffline(false);
  await host.listen(Number(port));
  await page.getByText('The connection to the server is lost.').waitFor({ state: 'detached' });
  await host.act('sessions/short', undefined, 'DELETE');
  await page.getByRole('alert').getByText('This session was deleted. What you see is what it was.').waitFor();
  await rows(page, 'assistant_text').waitFor();
  await page.reload();
  await page.getByText('There is no session “short”').waitFor();
  await page.close();
});

test('while the server does not respond, every view that was not shown before opens and says so', async () => {
  const page = await host.open(browser, '');
  await page.locator('[data-entry]').first().waitFor();
  await page.waitForLoadState('networkidle'); // the other views are loaded
  const { port } = new URL(host.url);
  await host.closeServer();
  const said = page.getByRole('alert').getByText('The server does not respond; is it still running?');
  await said.waitFor();
  for (const keys of [
    ['g', 'i'],
    ['g', 'w'],
    ['g', 's'],
  ]) {
    for (const key of keys) await page.keyboard.press(key);
    await said.waitFor();
  }
  expect(await page.getByText('There are no sessions yet.').count()).toBe(0);
  await page.getByRole('navigation').getByRole('link', { name: 'lock' }).first().click();
  await said.waitFor();
  await page.goBack();
  await host.listen(Number(port));
  await said.waitFor({ state: 'detached' });
  await page.close();
});
