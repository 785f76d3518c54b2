/** Studio in headless Chromium: the list of sessions, search, keys, themes, narrow screens and what screen readers need. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { violations } from './studio/axe.ts';
import { playScenes } from './studio/scenes.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows, watchMisdeeds } from './studio/studio-page.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  await playScenes(host);
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

const entries = (page: Page) => page.locator('[data-entry]');

describe('the list', () => {
  test('the server leads from / to Studio, which lists every session with its status, project, turns and cost', async () => {
    const page = await browser.newPage();
    await page.goto(host.url);
    expect(page.url()).toBe(host.page());
    const bug = entries(page).filter({ hasText: 'Fix the lock that is never free' });
    await bug.getByText('$').waitFor();
    expect(await bug.innerText()).toMatch(/Done\s+Fix the lock that is never free\s+harbor\s+Holdfast\s+5\s+/);
    expect(await entries(page).count()).toBe(6);
    await page.close();
  });

  test('filters by status are part of the address', async () => {
    const page = await host.open(browser);
    await entries(page).first().waitFor();
    await page.getByLabel('Status').selectOption('Done');
    await expect.poll(() => entries(page).count()).toBe(2);
    expect(new URL(page.url()).search).toBe('?status=completed');
    await page.reload();
    await expect.poll(() => entries(page).count()).toBe(2);
    await page.getByLabel('Source').selectOption('Codex');
    await page.getByText('No session matches these filters.').waitFor();
    await page.close();
  });

  test('a search shows hits with their words marked, and a hit opens its session at the block that has them', async () => {
    const page = await host.open(browser);
    await page.getByLabel('Search all sessions').fill('hash table');
    const hit = entries(page).filter({ hasText: 'partitioned' }).first();
    await hit.waitFor();
    expect(await hit.locator('mark').allTextContents()).toEqual(['hash', 'table']);
    await hit.click();
    await page.getByLabel('Find in this conversation').waitFor();
    expect(await page.getByLabel('Find in this conversation').inputValue()).toBe('hash table');
    expect(page.url()).toContain('/sessions/lock-research');
    await page.locator('article.bg-accent-ground', { hasText: 'researcher' }).waitFor(); // its result has the words
    await page.close();
  });

  test('words that no session has are said to be in none', async () => {
    const page = await host.open(browser, '?q=zeppelin');
    await page.getByText('No session contains “zeppelin”.').waitFor();
    await page.close();
  });
});

describe('the keyboard', () => {
  test('j, k, Enter, g s, g i, / and the palette reach every view without a pointer', async () => {
    const page = await host.open(browser);
    await entries(page).first().waitFor();
    const first = await entries(page).nth(0).getAttribute('href');
    const second = await entries(page).nth(1).getAttribute('href');
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.getAttribute("href")');
    await page.keyboard.press('j');
    expect(await focused()).toBe(first);
    await page.keyboard.press('j');
    expect(await focused()).toBe(second);
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByLabel('Conversation', { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(first);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('never free');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+k');
    await page.getByLabel('Command or session').fill('dark');
    await page.getByRole('option', { name: 'Dark theme' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.keyboard.press('Control+k');
    await page.getByLabel('Command or session').fill('implement locks');
    await page.getByRole('option', { name: 'Compare how others implement locks' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Compare how others implement locks' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys on this page' }).waitFor();
    await page.keyboard.press('Escape');
    await page.close();
  });

  test('letters that a person types into a field are text, not commands', async () => {
    const page = await host.open(browser, 'sessions/lock-bug');
    await page.getByLabel('Message', { exact: true }).fill('');
    await page.getByLabel('Message', { exact: true }).pressSequentially('g i j k / ?');
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('g i j k / ?');
    expect(page.url()).toBe(host.page('sessions/lock-bug'));
    await page.close();
  });
});

describe('the frame', () => {
  test('an unknown address and an unknown session are said in a sentence', async () => {
    const page = await host.open(browser, 'sessions/nothing');
    await page.getByText('There is no session “nothing”').waitFor();
    await page.goto(host.page('elsewhere'));
    await page.getByText('There is no such page in Studio.').waitFor();
    await page.close();
  });

  test('on a narrow screen nothing is wider than the screen, and the sidebar opens over the page', async () => {
    const page = await host.open(browser, 'sessions/lock-bug', { viewport: { width: 360, height: 700 } });
    await rows(page, 'assistant_text').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.getByRole('button', { name: 'Holdfast' }).click();
    await page.getByRole('navigation').getByText('Compare how others').click();
    await page.getByRole('heading', { name: 'Compare how others implement locks' }).waitFor();
    for (const path of ['', 'inbox', '?q=lock']) {
      await page.goto(host.page(path));
      await page.locator('[data-entry]').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    }
    await page.close();
  });

  test('with reduced motion nothing is animated', async () => {
    const page = await host.open(browser, '', { reducedMotion: 'reduce' });
    await entries(page).first().waitFor();
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await page.close();
  });

  test('every view loads under the strict policy from this server alone', async () => {
    for (const path of ['', '?q=lock', 'inbox', 'sessions/lock-bug', 'sessions/charge']) {
      const page = await browser.newPage();
      const { list } = await watchMisdeeds(page, host.url);
      await page.goto(host.page(path));
      await page.locator('[data-entry], article').first().waitFor();
      await page.keyboard.press('Control+k');
      await page.getByLabel('Command or session').waitFor();
      expect(list).toEqual([]);
      await page.close();
    }
  });
});

describe('axe-core finds no violation', () => {
  const views = [
    '',
    '?q=lock',
    'inbox',
    'sessions/lock-bug',
    'sessions/lock-research',
    'sessions/letter',
    'sessions/charge',
  ];
  test.for(views.flatMap((path) => (['light', 'dark'] as const).map((colorScheme) => ({ path, colorScheme }))))(
    'in $path, $colorScheme',
    async ({ path, colorScheme }) => {
      const page = await host.open(browser, path, { colorScheme, bypassCSP: true });
      await page.locator('[data-entry], article').first().waitFor();
      expect(await violations(page)).toEqual([]);
      await page.close();
    },
  );
});
