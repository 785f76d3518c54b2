/** Everything that a model, a tool or a transcript said is data: nothing of it runs, loads, or becomes an element of the page. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INJECTIONS } from '../support/injections.ts';
import { recordedMessage } from './studio/recorded-message.ts';
import { StudioHost } from './studio/studio-host.ts';
import { watchMisdeeds } from './studio/studio-page.ts';
import { launch } from './support.ts';

const AT = '2026-01-01T00:00:00.000Z';

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

/** Elements that no text may become, and addresses that no link or image may have. */
const FOUND = `(() => {
  const elements = 'script, iframe, object, embed, style, link, meta, base, form, video, audio, math, marquee, template, [onerror], [onload], [onclick], [onfocus], [onmouseover], [srcset]';
  const bad = [...document.querySelectorAll('#root :is(' + elements + ')')].filter((e) => !e.matches('form:has(> textarea[aria-label=Message])'));
  const links = [...document.querySelectorAll('#root a[href]')].filter((a) => !/^(https?|mailto):$/.test(a.protocol));
  const images = [...document.querySelectorAll('#root img')].filter((i) => !/^data:image\\/(png|jpeg|gif|webp|avif);base64,/.test(i.src));
  return [...bad, ...links, ...images].map((e) => e.outerHTML.slice(0, 200));
})()`;

async function watched(path: string): Promise<{ readonly page: Page; readonly list: readonly string[] }> {
  const page = await browser.newPage({ viewport: { width: 1400, height: 4000 } });
  const { list } = await watchMisdeeds(page, host.url);
  await page.goto(host.page(path));
  return { page, list };
}

/** Opens everything on the page, and scrolls through it from its end to its start. */
async function readWhole(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  await page.locator('article').first().waitFor();
  for (let at = -1; ; ) {
    await page.evaluate(
      'for (const each of document.querySelectorAll("article details:not([open]) > summary, article button[aria-expanded=false]")) each.click()',
    );
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    found.push(...((await page.evaluate(FOUND)) as readonly string[]));
    const top = (await page.evaluate('document.querySelector("[role=log]").scrollTop')) as number;
    if (top === 0 || top === at) return found;
    at = top;
    await page.evaluate('document.querySelector("[role=log]").scrollTop -= 3000');
  }
}

test(`${INJECTIONS.length} texts as messages, thoughts, names, arguments and results of tools run and load nothing`, async () => {
  expect(INJECTIONS.length).toBeGreaterThanOrEqual(60);
  let sequence = 0;
  const recorded = (turn: number, message: object): never => recordedMessage(sequence++, turn, message);
  const events = INJECTIONS.flatMap((text, index) => {
    const turn = index + 1;
    const calls = [
      { name: text, arguments: JSON.stringify({ [text]: text }) },
      { name: 'Bash', arguments: JSON.stringify({ command: text, description: text }) },
      { name: 'Edit', arguments: JSON.stringify({ file_path: text, old_string: text, new_string: `${text}${text}` }) },
      { name: 'Read', arguments: JSON.stringify({ file_path: text }) },
      { name: 'TodoWrite', arguments: JSON.stringify({ todos: [{ content: text, status: text }] }) },
      { name: 'WebFetch', arguments: JSON.stringify({ url: text, prompt: text }) },
      { name: 'other', arguments: text },
    ].map((call, at) => ({ callId: `c${turn}-${at}`, ...call }));
    return [
      recorded(0, {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', mediaType: text, data: text, filename: text },
        ],
      }),
      recorded(turn, {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: `thought\n${text}` },
          { type: 'text', text },
        ],
        toolCalls: calls,
      }),
      ...calls.map(({ callId, name: toolName }, at) =>
        recorded(turn, {
          role: 'tool',
          toolCallId: callId,
          toolName,
          isError: at === 6,
          content: [{ type: 'text', text: at === 3 ? `     1→${text}` : text }],
        }),
      ),
    ];
  });
  await host.store.append('injected', events, { id: 'append', expectedSeq: 0 });
  const { page, list } = await watched('sessions/injected');
  const found = await readWhole(page);
  expect(found).toEqual([]);
  expect(list).toEqual([]);
  await page.close();
});

test('the same texts as titles, projects, tags and hits of a search run and load nothing', async () => {
  for (const [index, text] of INJECTIONS.entries()) {
    const event = {
      type: 'session/described',
      at: AT,
      title: text,
      tags: [text],
      metadata: { cwd: text, project: text },
    };
    await host.store.append(`title-${index}`, [event] as never, { id: 'append', expectedSeq: 0 });
  }
  for (const path of [
    '',
    '?q=alert',
    '?q=evil',
    'sessions/title-0',
    `sessions/${encodeURIComponent(INJECTIONS[0] ?? '')}`,
  ]) {
    const { page, list } = await watched(path);
    await page.locator('[data-entry], h1, main p').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    expect(await page.evaluate(FOUND)).toEqual([]);
    expect(list).toEqual([]);
    await page.close();
  }
});

test('the same texts as arguments that wait for approval, progress and errors run and load nothing', async () => {
  const all = INJECTIONS.join('\n\n');
  host.script('Write', [{ text: all, toolCalls: [{ name: 'send_letter', arguments: { to: all, text: all } }] }]);
  host.script('Charge', [{ toolCalls: [{ name: 'charge_card', arguments: { order: all, euros: 1 } }] }]);
  host.script('Fail', [{ error: { status: 500, message: all } }]);
  for (const [id, text] of Object.entries({ write: 'Write', charge: 'Charge', fail: 'Fail' })) {
    await host.send(id, text);
    await host.reaches(id, 'suspended');
    await host.send(id, all);
  }
  for (const path of ['inbox', 'sessions/write', 'sessions/charge', 'sessions/fail']) {
    const { page, list } = await watched(path);
    await page.locator('section').first().waitFor();
    expect(await page.evaluate(FOUND)).toEqual([]);
    expect(list).toEqual([]);
    await page.close();
  }
});

test('character references in Markdown are decoded, and breach no policy', async () => {
  const content = [{ type: 'text', text: 'Tom &amp; Jerry &lt;b&gt; &copy; &NotEqualTilde;' }];
  const events = [recordedMessage(0, 1, { role: 'assistant', content })];
  await host.store.append('references', events, { id: 'append', expectedSeq: 0 });
  const { page, list } = await watched('sessions/references');
  await page.getByText('Tom & Jerry <b> © ≂̸').waitFor();
  expect(list).toEqual([]);
  await page.close();
});
