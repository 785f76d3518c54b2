/** Forks, comparisons and other strategies in headless Chromium. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { violations } from './studio/axe.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows } from './studio/studio-page.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  host.script('Name a boat', ['The boat is called Ada, and it is blue.']);
  host.script('Name a fast boat', ['The boat is called Grace, and it is blue.']);
  await host.send('boat', 'Name a boat.');
  await host.reaches('boat', 'completed');
  await host.send('boat', 'Thank you.');
  await host.reaches('boat', 'completed');
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

/** The id of the session that the address names, once it is another one. */
async function forkOf(page: Page, id: string): Promise<string> {
  await page.waitForURL((url) => !url.pathname.endsWith(`/${id}`));
  return decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '');
}

describe('a fork', () => {
  test('a message is edited and sent to another model, and the fork stands beside its origin', async () => {
    const page = await host.open(browser, 'sessions/boat');
    await rows(page, 'user_message').first().hover();
    await rows(page, 'user_message')
      .first()
      .getByRole('button', { name: /^Fork at this block/ })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Fork and send this message again' });
    await dialog.getByLabel('Message').fill('Name a fast boat.');
    await dialog.getByLabel('Model').fill('scripted-2');
    await dialog.getByLabel('Title').fill('A fast boat');
    await dialog.getByRole('button', { name: 'Fork and send' }).click();
    const fork = await forkOf(page, 'boat');
    await page.getByText('Grace').first().waitFor();
    await host.reaches(fork, 'completed');
    expect(await rows(page, 'user_message').allInnerTexts()).toEqual([expect.stringContaining('Name a fast boat.')]);

    await page.getByRole('link', { name: 'Compare' }).click();
    const compared = page.getByRole('list', { name: 'Messages of both sessions' }).getByRole('listitem');
    await compared.first().waitFor();
    expect(await compared.nth(0).locator('mark').allTextContents()).toEqual(['fast ']);
    const [, response] = await compared.allInnerTexts();
    expect(response).toMatch(/scripted-1[\s\S]*Ada[\s\S]*scripted-2[\s\S]*Grace/);
    expect(await compared.nth(1).locator('mark').allTextContents()).toEqual(['Ada', 'Grace']);
    expect((await compared.allInnerTexts()).length).toBe(4); // the fork has nothing beside the thanks
    await page.close();
  });

  test('keys alone choose a block, fork after it and send a message', async () => {
    const page = await host.open(browser, 'sessions/boat');
    await rows(page, 'assistant_text').first().waitFor();
    for (const key of ['k', 'k', 'k']) await page.keyboard.press(key);
    await page.keyboard.press('F');
    const dialog = page.getByRole('dialog', { name: 'Fork after this block' });
    await dialog.waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    await page.keyboard.type('Paint it red.');
    for (let i = 0; i < 4; i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const fork = await forkOf(page, 'boat');
    await page.getByText('I have read: Paint it red.').waitFor();
    await host.reaches(fork, 'completed');
    const asked = await rows(page, 'user_message').allInnerTexts();
    expect(asked).toHaveLength(2);
    expect(asked[1]).toContain('Paint it red.');
    await page.close();
  });

  test('the dialog is closed by Escape and nothing is forked', async () => {
    const before = (await host.store.listSessions({})).sessions.length;
    const page = await host.open(browser, 'sessions/boat');
    await rows(page, 'assistant_text').first().waitFor();
    await page.keyboard.press('F');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await host.store.listSessions({})).sessions).toHaveLength(before);
    await page.close();
  });

  test('a refused fork is said in the dialog, which stays open', async () => {
    const page = await host.open(browser, 'sessions/boat');
    await rows(page, 'assistant_text').first().waitFor();
    await page.keyboard.press('F');
    const dialog = page.getByRole('dialog');
    await page.route('**/fork', (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/json',
        body: '{"error":{"code":"SESSION_CONFLICT","message":"the session has moved on"}}',
      }),
    );
    await dialog.getByRole('button', { name: /^Fork/ }).click();
    await dialog.getByText('The session has moved on.').waitFor();
    await page.close();
  });
});

describe('a comparison', () => {
  test('the other session is chosen from a list with keys', async () => {
    await host.send('ship', 'Name a boat.');
    await host.reaches('ship', 'completed');
    const page = await host.open(browser, 'sessions/ship/compare');
    await page.getByLabel('Session to compare with').fill('boat');
    const entry = page
      .getByRole('list', { name: 'Sessions to compare with' })
      .getByRole('link', { name: /^boat (now|\d)/ });
    await entry.press('Enter');
    await page.getByText('The sessions share no beginning.').waitFor();
    await page.getByLabel('Only what differs').check();
    const shown = page.getByRole('list', { name: 'Messages of both sessions' }).getByRole('listitem');
    await expect.poll(() => shown.count()).toBe(2); // the thanks and the response to it
    await page.close();
  });

  test('a session that does not exist is said, and another one can be chosen', async () => {
    const page = await host.open(browser, 'sessions/boat/compare?with=nothing');
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Compare with another' }).click();
    await page.getByLabel('Session to compare with').waitFor();
    await page.close();
  });
});

describe('strategies', () => {
  const totals = (page: Page) => page.getByRole('region', { name: 'Totals' }).getByRole('row');

  test('strategies stand beside what was sent, and a changed one is computed again', async () => {
    const page = await host.open(browser, 'sessions/boat/strategies');
    await totals(page).filter({ hasText: 'truncate-tool-results(1000) + sliding-window(20, low 10)' }).waitFor();
    await page.getByRole('button', { name: 'Remove step 1 of strategy 2' }).click();
    const group = page.getByRole('group', { name: 'Strategy 2' });
    await group.getByLabel('low').fill('');
    await group.getByLabel('size').fill('1');
    const row = totals(page).filter({ hasText: 'sliding-window(1)' });
    await row.waitFor();
    expect(await row.innerText()).toContain('−');
    await page.reload();
    await row.waitFor(); // the address holds the strategies
    await page.close();
  });

  test('a strategy that the server refuses is said in its words', async () => {
    const page = await host.open(browser, 'sessions/boat/strategies');
    await totals(page).first().waitFor();
    await page.getByRole('group', { name: 'Strategy 2' }).getByLabel('low').fill('900');
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('low');
    await page.close();
  });
});

test.for(['light', 'dark'] as const)('axe-core finds no violation in the dialog of a fork, %s', async (colorScheme) => {
  const page = await host.open(browser, 'sessions/boat', { colorScheme, bypassCSP: true });
  await rows(page, 'assistant_text').first().waitFor();
  await page.keyboard.press('F');
  await page.getByRole('dialog').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.close();
});
