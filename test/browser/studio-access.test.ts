/** Who reaches Studio, and how: the page that asks for a token, keys alone, and touch. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { violations } from './studio/axe.ts';
import { giveUp } from './studio/give-up.ts';
import { playScenes } from './studio/scenes.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows } from './studio/studio-page.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  await playScenes(host);
  await giveUp(host, 'given-up');
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

/** The element with the focus: its name, and whether it can be seen that it has the focus. */
async function focused(page: Page): Promise<{ readonly name: string; readonly isVisible: boolean }> {
  return page.evaluate(`(() => {
    const element = document.activeElement;
    const { outlineStyle, boxShadow, borderColor } = getComputedStyle(element);
    const around = element.closest('label');
    element.blur();
    const without = [element, around].map((each) => each && getComputedStyle(each).borderColor).join();
    element.focus();
    const withFocus = [element, around].map((each) => each && getComputedStyle(each).borderColor).join();
    return {
      name: element.getAttribute('aria-label') ?? element.textContent.trim(),
      isVisible: outlineStyle !== 'none' || boxShadow !== 'none' || without !== withFocus,
    };
  })()`);
}

function labelOfFocus(page: Page): Promise<unknown> {
  return page.evaluate('document.activeElement.getAttribute("aria-label")');
}

describe('a server with a token', () => {
  test('Studio asks for it, says that a wrong one is refused, and keeps the right one while the tab is open', async () => {
    const token = 'a-token-that-is-long-enough';
    const server = createServer({ store: memoryStore(), studio: true, token });
    const { url } = await server.listen({ port: 0 });
    const page = await browser.newPage({ bypassCSP: true });
    await page.goto(url);
    await page.getByRole('heading', { name: 'This server needs its token' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Token').fill('another-token-that-is-long');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The server refused this token.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('There are no sessions yet.').waitFor();
    await page.reload();
    await page.getByText('There are no sessions yet.').waitFor();
    await page.evaluate('sessionStorage.clear()');
    await page.goto(`${url}/studio/#token=${token}`);
    await page.reload();
    await page.getByText('There are no sessions yet.').waitFor();
    expect(page.url()).toBe(`${url}/studio/`);
    await page.close();
    await server.close();
  });
});

describe('keys alone', () => {
  test('Enter presses the button or link that has the focus, also in a conversation, where it opens the chosen block', async () => {
    const page = await host.open(browser, 'sessions/lock-bug');
    await rows(page, 'assistant_text').first().waitFor();
    await page.getByRole('button', { name: 'Export' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Export the conversation' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await focused(page)).name).toBe('Export');
    await page.getByRole('link', { name: 'Timeline' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('listbox').waitFor();
    await page.close();
  });

  test.for([
    ['?', 'Keys on this page'],
    ['e', 'Export the conversation'],
    ['F', 'Fork after this block'],
    ['Control+k', 'Commands'],
  ] as const)('%s opens a dialog that holds the focus, and Escape returns it', async ([keys, name]) => {
    const page = await host.open(browser, 'sessions/lock-bug');
    await rows(page, 'assistant_text').first().waitFor();
    await page.getByRole('log').focus();
    await page.keyboard.press(keys);
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    const holdsFocus = 'document.querySelector("[role=dialog]").contains(document.activeElement)';
    await expect.poll(() => page.evaluate(holdsFocus)).toBe(true);
    for (let i = 0; i < 8; i++) await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate(holdsFocus)).toBe(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => labelOfFocus(page)).toBe('Conversation');
    await page.close();
  });

  test('Escape closes the find bar and returns the focus to the conversation', async () => {
    const page = await host.open(browser, 'sessions/lock-bug');
    await rows(page, 'assistant_text').first().waitFor();
    await page.keyboard.press('f');
    await page.keyboard.type('release');
    await page.getByRole('status').getByText('1 of').waitFor();
    expect(await page.getByLabel('Find in this conversation').inputValue()).toBe('release');
    await page.keyboard.press('Escape');
    await page.getByLabel('Find in this conversation').waitFor({ state: 'detached' });
    await expect.poll(() => labelOfFocus(page)).toBe('Conversation');
    await page.close();
  });

  test.for(['', '?q=lock', 'inbox', 'workers', 'sessions/lock-bug', 'sessions/letter', 'sessions/lock-bug/record'])(
    'Tab goes through %s, and each element shows that it has the focus',
    async (path) => {
      const page = await host.open(browser, path);
      await page.locator('main').locator('[data-entry], article, [role=option]').first().waitFor();
      const unseen: string[] = [];
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate('document.activeElement === document.body')) break;
        const { name, isVisible } = await focused(page);
        if (!isVisible) unseen.push(name);
      }
      expect(unseen).toEqual([]);
      await page.close();
    },
  );
});

describe('touch', () => {
  test('a tap chooses a row and shows its actions, and the session is forked there', async () => {
    const options = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } };
    const page = await host.open(browser, 'sessions/lock-research', options);
    const answer = rows(page, 'assistant_text').filter({ hasText: 'I ask two people' });
    await answer.waitFor();
    const shown = `[...document.querySelectorAll('button[aria-label^="Fork at"]')].filter(
      (button) => getComputedStyle(button.parentElement).opacity === '1',
    ).length`;
    expect(await page.evaluate(shown)).toBe(0);
    await answer.getByText('I ask two people').tap();
    await expect.poll(() => page.evaluate(shown)).toBe(1);
    const fork = answer.getByRole('button', { name: 'Fork at this block' });
    await fork.tap();
    await page.getByRole('dialog', { name: 'Fork after this block' }).waitFor();
    await page.close();
  });
});

describe('axe-core finds no violation', () => {
  const DIALOGS = {
    palette: (page: Page) => page.keyboard.press('Control+k'),
    keys: (page: Page) => page.keyboard.press('?'),
    export: (page: Page) => page.keyboard.press('e'),
    find: (page: Page) => page.keyboard.press('f'),
    chosen: (page: Page) => page.keyboard.press('k'),
  } as const;
  const looks = ['light', 'dark'] as const;

  test.for(looks.flatMap((look) => Object.entries(DIALOGS).map(([name, open]) => ({ look, name, open }))))(
    'in a conversation with $name, $look',
    async ({ look, open }) => {
      const page = await host.open(browser, 'sessions/lock-bug', { colorScheme: look, bypassCSP: true });
      await rows(page, 'assistant_text').first().waitFor();
      await open(page);
      await page.locator('[role=dialog], search, article.bg-accent-ground').first().waitFor();
      expect(await violations(page)).toEqual([]);
      await page.close();
    },
  );

  test.for(looks.flatMap((look) => ['workers', 'elsewhere', 'sessions/nothing'].map((path) => ({ look, path }))))(
    'in $path, $look',
    async ({ look, path }) => {
      const page = await host.open(browser, path, { colorScheme: look, bypassCSP: true });
      await page.locator('main p, main section').first().waitFor();
      expect(await violations(page)).toEqual([]);
      await page.close();
    },
  );

  test.for(looks)('in the question before something is given up, %s', async (colorScheme) => {
    const page = await host.open(browser, 'inbox', { colorScheme, bypassCSP: true });
    await page.getByRole('button', { name: 'Give it up…' }).first().click();
    await page.getByRole('dialog', { name: 'Give it up?' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  test.for(['', 'inbox', 'workers', 'sessions/lock-bug'])(
    'on a narrow screen with the sidebar, in %s',
    async (path) => {
      const page = await host.open(browser, path, { viewport: { width: 390, height: 780 }, bypassCSP: true });
      await page.locator('[data-entry], article').first().waitFor();
      await page.getByRole('button', { name: 'Holdfast' }).click();
      await page.getByRole('navigation', { name: 'Studio' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('navigation', { name: 'Studio' }).waitFor({ state: 'hidden' });
      await page.close();
    },
  );
});
