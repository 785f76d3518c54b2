/** The record of a session in headless Chromium: requests beside the record, missed caches, and the timeline of an agent that was killed. */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BlockPage } from '../../src/server/routes/block-routes.ts';
import type { RequestList } from '../../src/server/routes/record-routes.ts';
import { importTranscripts } from '../../src/transcripts.ts';
import { INJECTIONS } from '../support/injections.ts';
import { violations } from './studio/axe.ts';
import { playRelease } from './studio/play-release.ts';
import { StudioHost } from './studio/studio-host.ts';
import { watchMisdeeds } from './studio/studio-page.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
let list: RequestList;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start(playRelease);
  list = await host.json<RequestList>('sessions/release/requests');
  await forkBeforeLastMessage('release', 'release-2', 'Explain it to a child.');
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

const chosen = (page: Page) => page.locator('[role=option][aria-selected=true]');
const cache = (page: Page) => page.getByRole('region', { name: 'Prompt cache' });

async function opened(path: string): Promise<Page> {
  const page = await host.open(browser, path, { viewport: { width: 1280, height: 900 } });
  await chosen(page).waitFor({ state: 'attached' });
  return page;
}

/** The name of the chosen option, as the focused list gives it to a screen reader. */
async function announced(page: Page): Promise<string> {
  return (await page.evaluate(
    'document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.getAttribute("aria-label") ?? ""',
  )) as string;
}

describe('requests', () => {
  test('the chart has every request, and the newest one is chosen', async () => {
    const page = await opened('sessions/release/record');
    expect(await page.getByRole('option').count()).toBe(list.requests.length);
    await page.getByRole('heading', { name: `Turn ${list.requests.at(-1)?.turn}` }).waitFor();
    await page.close();
  });

  test('p goes to the request before that missed the cache, and a sentence names the manager, the message and the share that is left', async () => {
    const page = await opened('sessions/release/record');
    await page.keyboard.press('p');
    await cache(page).getByText('summarize(7, low 3)').waitFor();
    await page.keyboard.press('p');
    const sentence = cache(page).getByText('sliding-window(6, low 3) left out a response');
    expect(await sentence.innerText()).toMatch(
      /^The cache was missed from message 3 on: .* \d+ % of the request before \(\d+ of [\d,]+ tokens\)/,
    );
    await cache(page).getByText('I read the package first.').waitFor();
    await cache(page).getByText('This request does not have it.').waitFor();
    await page.reload();
    await sentence.waitFor(); // the address holds the choice
    await page.close();
  });

  test('each message stands beside what was sent of it: dropped, shortened, summarised and added', async () => {
    const page = await opened('sessions/release/record');
    const fates = async (): Promise<unknown> =>
      page.evaluate('[...document.querySelectorAll("li[data-fate]")].map((row) => row.dataset.fate)');
    const added = page.locator('li[data-fate=added]');
    await added.waitFor();
    expect(await added.innerText()).toContain('not in the record');
    expect(await added.innerText()).toContain('Summary of the conversation so far');
    expect(await fates()).toContain('summarised');
    const shortened = page.locator('li[data-fate=shortened]').first();
    expect(await shortened.innerText()).toMatch(/1\.\dk → \d+/);
    for (let i = 0; i < 2; i++) await page.keyboard.press('p');
    await page.locator('li[data-fate=dropped]').first().getByText('not sent').waitFor();
    expect(await fates()).not.toContain('summarised');
    await page.close();
  });

  test('a long text is opened by a person, and the whole recorded text is loaded', async () => {
    const page = await opened('sessions/release/record');
    const row = page.locator('li[data-fate=shortened]').first();
    await row.getByRole('button', { name: 'Show all' }).first().click();
    await row.getByText('tide59 = high(413)').waitFor();
    await page.close();
  });

  test('the chart is used by keys alone, and the list announces the request that they choose', async () => {
    const page = await opened('sessions/release/record');
    const chart = page.getByRole('listbox');
    await chart.focus();
    await page.keyboard.press('Home');
    await expect.poll(() => announced(page)).toMatch(/^Request 1, turn 1: \d+ tokens, cache not known$/);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => announced(page)).toMatch(/^Request 2, turn 2: /);
    await page.keyboard.press('End');
    await expect.poll(() => announced(page)).toMatch(/cache used$/);
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('listbox');
    await page.close();
  });
});

describe('the timeline', () => {
  test('it says where the process died, which call was not repeated and which was open', async () => {
    const page = await opened('sessions/release/timeline');
    const said = await page.getByRole('region', { name: 'Chosen' }).innerText();
    expect(said).toMatch(/The process died, and process \d+ on .* resumed .* later \(run 2\)\./);
    expect(said).toContain('run_tests was finished before and not repeated.');
    expect(said).toContain('check_types was open and had to be decided again.');
    await page.close();
  });

  test('tools of one turn are on lanes of their own, and a child has rows below the call that started it', async () => {
    const page = await opened('sessions/release/timeline');
    const lanes = await page.evaluate(
      'new Set([...document.querySelectorAll("[role=option][data-kind=tool] > rect:first-child")].map((bar) => bar.getAttribute("y"))).size',
    );
    expect(lanes).toBeGreaterThanOrEqual(6); // three of the main conversation, two of the child, one of the second run
    await page.getByText('historian', { exact: true }).first().waitFor();
    await page.close();
  });

  test('arrow keys move through it, and a model call leads to its request', async () => {
    const page = await opened('sessions/release/timeline');
    await page.getByRole('listbox').focus();
    await page.keyboard.press('Home');
    await expect.poll(() => announced(page)).toMatch(/^turn 1: scripted-1 responded after/);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => announced(page)).toMatch(/^read_file: read_file completed after/);
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => announced(page)).toMatch(/^turn 1/);
    await page.getByRole('link', { name: 'Its request' }).press('Enter');
    await page.getByRole('heading', { name: 'Turn 1' }).waitFor();
    await page.close();
  });

  test('an approval names the person who gave it', async () => {
    const page = await opened('sessions/release/timeline');
    const approval = page.getByRole('option', { name: /^approval of publish: publish waited .* approved by ada\.$/ });
    expect(await approval.count()).toBe(1);
    await page.close();
  });
});

test('an imported session says that its transcript has no requests', async () => {
  await importTranscripts(host.store, { paths: [join(import.meta.dirname, '../fixtures/claude-code-2.1.325/tools')] });
  const { sessions } = await host.store.listSessions({ tags: ['imported'] });
  for (const view of ['record', 'timeline', 'strategies']) {
    const page = await host.open(browser, `sessions/${encodeURIComponent(sessions[0]?.id ?? '')}/${view}`);
    await page.getByText('Its transcript has the messages, and not the requests').waitFor();
    await page.close();
  }
});

test('a session that does not exist is said in a sentence', async () => {
  for (const view of ['record', 'timeline', 'strategies', 'compare']) {
    const page = await host.open(browser, `sessions/nothing/${view}`);
    await page.getByRole('alert').first().waitFor();
    await page.close();
  }
});

test('what models and tools say is text in every view', async () => {
  const all = INJECTIONS.join('\n\n');
  host.script('Attack', [
    { text: all, reasoning: all, toolCalls: [{ name: all.slice(0, 60), arguments: { [all]: all } }] },
    all,
  ]);
  await host.send('attack', `Attack ${all}`);
  await host.reaches('attack', 'completed');
  await host.act('sessions/attack', { title: all }, 'PATCH');
  await forkBeforeLastMessage('attack', 'attack-2', `Attack again ${all}`);
  for (const view of ['attack/record', 'attack/timeline', 'attack/strategies', 'attack-2/compare', 'attack/compare']) {
    const page = await browser.newPage();
    const misdeeds = await watchMisdeeds(page, host.url);
    await page.goto(host.page(`sessions/${view}`));
    await page.locator('main li, main table, main [role=option]').first().waitFor({ state: 'attached' });
    await page.evaluate(
      'for (const each of document.querySelectorAll("main button[aria-expanded=false]")) each.click()',
    );
    expect(await page.locator('#root :is(script, iframe, img, object, style, [onerror], [onload])').count()).toBe(0);
    expect(misdeeds.list).toEqual([]);
    await page.close();
  }
});

/** Each view, and what it shows once it is loaded. */
const VIEWS = [
  ['release/record', 'li[data-fate]'],
  ['release/timeline', '[role=option][data-kind=tool]'],
  ['release/strategies', 'tbody tr'],
  ['release-2/compare', 'ol li'],
  ['release/compare', '[data-entry]'],
] as const;

test.for(VIEWS)(
  '%s keeps to the policy, loads nothing from elsewhere, and fits a narrow screen',
  async ([view, shows]) => {
    const page = await browser.newPage({ viewport: { width: 390, height: 780 } });
    const misdeeds = await watchMisdeeds(page, host.url);
    await page.goto(host.page(`sessions/${view}`));
    await page.locator(`main ${shows}`).first().waitFor({ state: 'attached' });
    expect(misdeeds.list).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.close();
  },
);

test.for(VIEWS.flatMap(([view, shows]) => (['light', 'dark'] as const).map((look) => ({ view, shows, look }))))(
  'axe-core finds no violation in $view, $look',
  async ({ view, shows, look }) => {
    const page = await host.open(browser, `sessions/${view}`, { colorScheme: look, bypassCSP: true });
    await page.locator(`main ${shows}`).first().waitFor({ state: 'attached' });
    expect(await violations(page)).toEqual([]);
    await page.close();
  },
);

/** Forks a session before its last message, and sends another one instead. */
async function forkBeforeLastMessage(id: string, fork: string, input: string): Promise<void> {
  const { blocks } = await host.json<BlockPage>(`sessions/${id}/blocks?limit=500`);
  const last = blocks.findLast(({ type }) => type === 'user_message');
  await host.act(`sessions/${id}/fork`, { id: fork, block: last?.id, before: true, input });
  await host.reaches(fork, 'completed');
}
