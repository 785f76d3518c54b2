/** Exported HTML in headless Chromium: what a conversation says is shown, and nothing of it runs or loads. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportConversation } from '../../src/transcripts.ts';
import { completed, spawned, text, upsert } from '../conversation/builders.ts';
import { INJECTIONS } from '../support/injections.ts';
import { everywhere } from '../transcripts/hostile-conversation.ts';
import { stateOf } from '../transcripts/own-log-builders.ts';
import { watchMisdeeds } from './studio/studio-page.ts';
import { launch } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-html-'));
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens a file in a page that is watched. */
async function opened(html: string, options = {}): Promise<{ readonly page: Page; readonly misdeeds: string[] }> {
  const file = join(directory, 'conversation.html');
  writeFileSync(file, html);
  const page = await browser.newPage(options);
  const { list } = await watchMisdeeds(page, pathToFileURL(file).href);
  await page.goto(pathToFileURL(file).href);
  return { page, misdeeds: list };
}

/** Opens everything, and touches every element as a person could, except by following a link. */
const TOUCH_ALL = `
  document.addEventListener('click', (event) => event.preventDefault());
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const element of document.querySelectorAll('body *')) {
    for (const type of ['mouseover', 'mouseenter', 'focus', 'click']) element.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true }));
    element.focus?.();
  }
  new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
`;
const SUSPECTS = `
  [...document.querySelectorAll('*')].flatMap((element) => [
    ...(/^(script|iframe|object|embed|link|base|form|input|video|audio|template)$/i.test(element.tagName) ? [element.tagName] : []),
    ...[...element.attributes].filter(({ name, value }) => /^on|^style$|^srcset$/i.test(name) || /^\\s*(javascript|vbscript|data:text)/i.test(name === 'href' || name === 'src' ? value : ''))
      .map(({ name, value }) => name + '=' + value),
  ])
`;

/** The text whose control characters are shown as pictures. */
function withControls(shown: string): string {
  return shown
    .replaceAll('\ufffd', '\0')
    .replaceAll(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400));
}

describe('injections', () => {
  test('there are at least 60, all different', () => {
    expect(new Set(INJECTIONS).size).toBeGreaterThanOrEqual(60);
  });

  test.for(INJECTIONS)('%j in every field runs nothing, loads nothing and breaks no policy', async (said) => {
    const { content } = exportConversation(everywhere(said), {
      format: 'html',
      title: said,
      about: { project: said, agent: said, version: said, session: said, branch: said },
    });
    const { page, misdeeds } = await opened(content);
    await page.evaluate(TOUCH_ALL);
    expect(await page.evaluate(SUSPECTS)).toEqual([]);
    expect(misdeeds).toEqual([]);
    const words = (await page.locator('header h1').textContent()) ?? '';
    expect(withControls(words)).toBe(said);
    await page.close();
  });

  test('the watcher notices what a page without escaping does, and the policy of the file stops it', async () => {
    const bad = '<img src=x onerror=alert(1)><img src="https://evil.example/pixel.png"><p style="color:red">x</p>';
    const open = await opened(`<!doctype html><main>${bad}</main>`);
    await expect
      .poll(() => open.misdeeds)
      .toEqual(expect.arrayContaining(['alert', 'request: https://evil.example/pixel.png']));
    await open.page.close();
    const { content } = exportConversation(everywhere('hi'), { format: 'html' });
    const guarded = await opened(content.replace('</main>', `${bad}<script>alert(1)</script></main>`));
    await expect
      .poll(() => guarded.misdeeds.filter((what) => what.startsWith('policy')).length)
      .toBeGreaterThanOrEqual(4);
    expect(guarded.misdeeds.filter((what) => what === 'alert')).toEqual([]);
    await guarded.page.close();
  });
});

describe('the file', () => {
  const state = stateOf([
    upsert(text('u', 'Fix the *cart*', { type: 'user_message' })),
    upsert(text('a', '**Done**, see [the page](https://example.com/a)\n\n| n | x |\n| -: | - |\n| 1 | 2 |')),
    spawned('s', { prompt: 'Look around', subagentType: 'explorer' }),
    upsert(text('deep', 'Found it inside'), 's'),
    completed('s', { output: 'ok' }),
  ]);
  const { content } = exportConversation(state, { format: 'html', title: 'Cart' });

  test('has the look of Studio under its own policy, in light and dark, and fits a narrow screen', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, misdeeds } = await opened(content, { colorScheme, viewport: { width: 390, height: 700 } });
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      expect(Number(/oklch\(([\d.]+)/.exec(ground)?.[1]) < 0.5).toBe(colorScheme === 'dark');
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(misdeeds).toEqual([]);
      await page.close();
    }
  });

  test('renders Markdown, and links lead away only when a person follows them', async () => {
    const { page } = await opened(content);
    expect(await page.locator('strong').allTextContents()).toEqual(['Done']);
    const link = page.getByRole('link', { name: 'the page' });
    expect(await link.getAttribute('href')).toBe('https://example.com/a');
    expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
    expect(await page.locator('td.text-right').allTextContents()).toEqual(['1']);
    expect(await page.getByText('Fix the *cart*').count()).toBe(1);
    await page.close();
  });

  test('every block has an address, also inside of a folded subagent', async () => {
    const { page } = await opened(content);
    const inside = page.getByText('Found it inside');
    expect(await inside.isVisible()).toBe(false);
    await page.goto(`${page.url()}#${encodeURIComponent('block-s~deep')}`);
    await inside.waitFor({ state: 'visible' });
    await page.close();
  });
});
