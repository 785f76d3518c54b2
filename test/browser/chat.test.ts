/** Both pages of examples/chat in headless Chromium: what they show equals the log, whatever happens to the connection (I7, D74). */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { counted, Example, isDone, launch, send, shown, showsText } from './support.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

describe.each(['conversation-page', 'use-chat-page'] as const)('%s', (name) => {
  let example: Example;
  beforeAll(async () => {
    example = await Example.start(name);
  });
  afterAll(() => example?.stop());

  const logged = (id: string): Promise<readonly string[]> =>
    name === 'conversation-page' ? example.logged(id) : example.loggedMessages(id);

  async function open(id: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(example.pageUrl(id));
    await page.getByLabel('Message').waitFor();
    return page;
  }

  test('a response is shown while it is made, and whole', async () => {
    const page = await open('live');
    await send(page, 'Count to 120');
    await showsText(page, '1 2 3');
    await showsText(page, counted(120));
    await isDone(page);
    expect(await shown(page)).toEqual(['Count to 120', counted(120)]);
    expect(await shown(page)).toEqual(await logged('live'));
    await page.close();
  });

  test('stop ends a response, and the next message gets its response', async () => {
    const page = await open('stop');
    await send(page, 'Count to 99999');
    await showsText(page, '1 2 3');
    await page.getByRole('button', { name: 'Stop' }).click();
    await isDone(page);
    await send(page, 'Count to 3');
    await page.getByText('1 2 3', { exact: true }).waitFor();
    await isDone(page);
    expect((await shown(page)).at(-1)).toBe('1 2 3');
    await page.close();
  });

  test('a page that is reloaded in mid-response continues without a lost or doubled character', async () => {
    const page = await open('reload');
    await send(page, 'Count to 200');
    for (const text of ['1 2 3', '40 41']) {
      await showsText(page, text);
      await page.reload();
    }
    await showsText(page, counted(200));
    await isDone(page);
    expect(await shown(page)).toEqual(['Count to 200', counted(200)]);
    expect(await shown(page)).toEqual(await logged('reload'));
    await page.close();
  });

  test('a page reconnects after the server was killed and restarted in mid-response', async () => {
    const page = await open('killed');
    await send(page, 'Count to 150');
    await showsText(page, '1 2 3 4 5');
    await example.kill();
    await example.run();
    await showsText(page, counted(150));
    await isDone(page);
    expect((await shown(page)).at(-1)).toBe(counted(150));
    expect(await shown(page)).toEqual(await logged('killed'));
    await page.close();
  });
});

describe('the connections of useConversation', () => {
  let example: Example;
  beforeAll(async () => {
    example = await Example.start('conversation-page');
  });
  afterAll(() => example?.stop());

  async function openCounted(
    id: string,
  ): Promise<{ readonly page: Page; readonly opened: string[]; readonly closed: string[] }> {
    const page = await browser.newPage();
    const opened: string[] = [];
    const closed: string[] = [];
    const isStream = (url: string): boolean => new URL(url).pathname.endsWith('/stream');
    const nameOf = (url: string): string => new URL(url).pathname.split('/')[2] ?? '';
    page.on('request', (request) => isStream(request.url()) && opened.push(nameOf(request.url())));
    page.on('requestfailed', (request) => isStream(request.url()) && closed.push(nameOf(request.url())));
    await page.goto(example.pageUrl(id));
    await page.locator('[data-status=live]').waitFor();
    return { page, opened, closed };
  }

  const showSession = (page: Page, id: string | undefined): Promise<void> =>
    page.evaluate((next) => (globalThis as unknown as { showSession(id?: string): void }).showSession(next), id);

  test('strict mode opens one connection, another id another one, and unmounting closes it', async () => {
    const { page, opened, closed } = await openCounted('one');
    expect(opened).toEqual(['one']);
    await send(page, 'Count to 3');
    await showsText(page, '1 2 3');
    const changed = page.waitForEvent('requestfailed');
    await showSession(page, 'two');
    await changed;
    await page.getByRole('heading', { name: 'two' }).waitFor();
    await page.locator('[data-status=live]').waitFor();
    expect(await shown(page)).toEqual([]);
    expect(opened).toEqual(['one', 'two']);
    const unmounted = page.waitForEvent('requestfailed');
    await showSession(page, undefined);
    await unmounted;
    expect(closed).toEqual(['one', 'two']);
    expect(opened).toEqual(['one', 'two']);
    await page.close();
  });

  test('a tab that was offline shows what it missed when it returns', async () => {
    const { page, opened } = await openCounted('away');
    await page.context().setOffline(true);
    await example.kill();
    await page.locator('[data-status=reconnecting]').waitFor();
    await example.run();
    const session = await browser.newPage();
    await session.goto(example.pageUrl('away'));
    await send(session, 'Count to 5');
    await showsText(session, counted(5));
    await isDone(session);
    const before = opened.length;
    await page.context().setOffline(false); // the browser fires `online`
    await showsText(page, counted(5));
    await isDone(page);
    expect(opened.length).toBeGreaterThan(before);
    expect(await shown(page)).toEqual(await example.logged('away'));
    await Promise.all([page.close(), session.close()]);
  });

  test('a hidden tab is updated without frames, and shows everything when it returns', async () => {
    const { page } = await openCounted('hidden');
    const setVisibility = (state: string): Promise<void> =>
      page.evaluate((value) => {
        const { document } = globalThis as unknown as { readonly document: EventTarget };
        Object.defineProperty(document, 'visibilityState', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, state);
    await setVisibility('hidden');
    await send(page, 'Count to 20');
    await showsText(page, '1 2 3');
    await setVisibility('visible');
    await showsText(page, counted(20));
    await isDone(page);
    expect(await shown(page)).toEqual(await example.logged('hidden'));
    await page.close();
  });
});
