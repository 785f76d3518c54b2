/** A conversation of 10,000 blocks in Studio: the page holds few nodes, and scrolling blocks it for no long time. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordedMessage } from './studio/recorded-message.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows } from './studio/studio-page.ts';
import { launch } from './support.ts';

const BLOCKS = 10_000;
const MAX_NODES = 3000;

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  await appendTurns(host, 'long', BLOCKS / 2);
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

/** Messages of a user and an assistant, written into the log as they are. */
async function appendTurns({ store }: StudioHost, id: string, turns: number): Promise<void> {
  const events = Array.from({ length: turns }, (_, index) => index + 1).flatMap((turn) => {
    const answer = `Answer **${turn}**: ${'a few words more '.repeat(turn % 9)}`;
    return [
      recordedMessage(turn * 2, 0, { role: 'user', content: [{ type: 'text', text: `Question ${turn}` }] }),
      recordedMessage(turn * 2 + 1, turn, { role: 'assistant', content: [{ type: 'text', text: answer }] }),
    ];
  });
  for (let from = 0; from < events.length; from += 1000) {
    await store.append(id, events.slice(from, from + 1000), { id: `append-${from}`, expectedSeq: from });
  }
}

test('it opens at its end, and scrolls from end to start with few nodes', async () => {
  const page = await browser.newPage();
  await page.addInitScript(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
  `);
  await page.goto(host.page('sessions/long'));
  await rows(page, 'assistant_text')
    .filter({ hasText: `Answer ${BLOCKS / 2}:` })
    .waitFor();
  const nodes = (): Promise<number> => page.evaluate('document.querySelectorAll("*").length');
  expect(await nodes()).toBeLessThan(MAX_NODES);
  await page.evaluate('longTasks.length = 0');
  let most = 0;
  for (let step = 0; step < 40; step++) {
    await page.mouse.move(600, 300);
    await page.mouse.wheel(0, -2000);
    await page.evaluate('new Promise(requestAnimationFrame)');
    most = Math.max(most, await nodes());
  }
  const longTasks = (await page.evaluate('longTasks')) as readonly number[];
  console.log(
    `${most} nodes at most; ${longTasks.length} long tasks in 40 steps, the longest ${Math.max(0, ...longTasks)} ms`,
  );
  expect(most).toBeLessThan(MAX_NODES);
  expect(await page.evaluate('document.querySelectorAll("article").length')).toBeGreaterThan(3);
  await page.getByRole('log').press('Home');
  await rows(page, 'user_message')
    .filter({ hasText: /Question 1(?!\d)/ })
    .waitFor();
  await page.close();
});

test('a link to a block in the middle opens there', async () => {
  const page = await host.open(browser, 'sessions/long?q=Answer+2500');
  await rows(page, 'assistant_text').filter({ hasText: 'Answer 2500:' }).waitFor();
  await page.close();
});
