/** Sessions of hostile size in Studio: whatever a log holds, the page has few nodes and reacts to keys. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importTranscripts } from '../../src/transcripts.ts';
import { recordedMessage } from './studio/recorded-message.ts';
import { StudioHost } from './studio/studio-host.ts';
import { rows } from './studio/studio-page.ts';
import { launch } from './support.ts';

const MAX_NODES = 3000;
const SENTENCE = 'The lock is released and taken again, and the tests are green. ';

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

/** Appends messages to a new session, a batch at a time. */
async function append(id: string, count: number, batch: number, messageOf: (index: number) => object): Promise<void> {
  for (let from = 0; from < count; from += batch) {
    const events = Array.from({ length: Math.min(batch, count - from) }, (_, i) =>
      recordedMessage(from + i + 1, Math.floor((from + i) / 2), messageOf(from + i)),
    );
    await host.store.append(id, events, { id: `append-${from}`, expectedSeq: from });
  }
}

function said(role: 'user' | 'assistant', text: string): object {
  return { role, content: [{ type: 'text', text }] };
}

function nodes(page: Page): Promise<number> {
  return page.evaluate('document.querySelectorAll("*").length');
}

/** Few nodes, the help opens and closes, and a key chooses a row. */
async function reacts(page: Page): Promise<void> {
  expect(await nodes(page)).toBeLessThan(MAX_NODES);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys on this page' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('k');
  await page.locator('article.bg-accent-ground').waitFor();
  expect(await nodes(page)).toBeLessThan(MAX_NODES);
}

test('a session of 100 MB opens at its end, is scrolled to its start and searched', async () => {
  const text = SENTENCE.repeat(1600);
  await append('wide', 1000, 50, (index) => said(index % 2 ? 'assistant' : 'user', `Message ${index}: ${text}`));
  const page = await host.open(browser, 'sessions/wide');
  await rows(page, 'assistant_text').filter({ hasText: 'Message 999:' }).waitFor();
  await reacts(page);
  await page.getByRole('log').press('Home');
  await rows(page, 'user_message').filter({ hasText: 'Message 0:' }).waitFor();
  await page.keyboard.press('f');
  await page.getByLabel('Find in this conversation').fill('Message 500:');
  await page.getByRole('status').getByText('1 of 1').waitFor();
  await rows(page, 'user_message').filter({ hasText: 'Message 500:' }).waitFor();
  expect(await nodes(page)).toBeLessThan(MAX_NODES);
  await page.close();
});

test('lines of 10 MB in messages, arguments and results are shown by their start, and more of them when a person wants that', async () => {
  const line = 'x'.repeat(10_000_000);
  const call = (id: string, name: string, input: object): object => ({ id, name, arguments: JSON.stringify(input) });
  const messages = [
    said('user', `From a user ${line}`),
    {
      role: 'assistant',
      content: [{ type: 'text', text: `From a model ${line}` }],
      toolCalls: [call('c1', 'Bash', { command: line }), call('c2', 'Read', { file_path: line })],
    },
    { role: 'tool', toolCallId: 'c1', toolName: 'Bash', content: [{ type: 'text', text: line }] },
    { role: 'tool', toolCallId: 'c2', toolName: 'Read', content: [{ type: 'text', text: `     1→${line}` }] },
    said('assistant', `\`\`\`ts\n${line}\n\`\`\``),
  ];
  await append('line', messages.length, 1, (index) => messages[index] as object);
  const page = await host.open(browser, 'sessions/line');
  await rows(page, 'assistant_text').last().waitFor();
  await reacts(page);
  await page.getByRole('log').press('Home');
  for (const summary of await rows(page, 'tool_use').locator('summary').all()) await summary.click();
  const user = rows(page, 'user_message').filter({ hasText: 'From a user' });
  await user.getByRole('button', { name: 'more characters' }).click();
  await user.getByText('is in the export').waitFor();
  expect(await nodes(page)).toBeLessThan(MAX_NODES);
  const characters = (await page.evaluate('document.body.textContent.length')) as number;
  expect(characters).toBeLessThan(1_000_000);
  await page.close();
});

test('a thousand subagents are rows that open, and a timeline that draws those near the screen', async () => {
  const toolCalls = Array.from({ length: 1000 }, (_, index) => ({
    name: 'researcher',
    arguments: { input: `How does system ${index} do it?` },
  }));
  host.script('Ask a thousand', [{ text: 'I ask.', toolCalls }, 'All of them use locks.']);
  await host.send('crowd', 'Ask a thousand');
  await host.reaches('crowd', 'completed');
  const page = await host.open(browser, 'sessions/crowd');
  await rows(page, 'assistant_text').getByText('All of them use locks.').waitFor();
  await reacts(page);
  await rows(page, 'subagent').last().getByRole('button', { name: 'researcher' }).click();
  await rows(page, 'assistant_text').getByText('I have read: How does system 999 do it?').waitFor();
  await page.goto(host.page('sessions/crowd/timeline'));
  await page.getByText('1,002 model calls').waitFor();
  const chosen = page.getByRole('option', { selected: true });
  await chosen.waitFor();
  expect(await nodes(page)).toBeLessThan(MAX_NODES);
  await page.getByRole('listbox').focus();
  for (const key of ['Home', 'ArrowDown', 'End']) {
    await page.keyboard.press(key);
    await chosen.waitFor();
    expect(await chosen.count()).toBe(1);
    expect(await nodes(page)).toBeLessThan(MAX_NODES);
  }
  await page.close();
});

test('blocks of unknown types are named, open as JSON, and are found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-unknown-'));
  const sessionId = '0b0b0b0b-0000-4000-8000-000000000001';
  const base = { isSidechain: false, cwd: '/home/ada/harbor', sessionId, version: '2.0.0' };
  const at = (index: number) => ({
    uuid: `00000000-0000-4000-8000-00000000000${index}`,
    parentUuid: index === 0 ? null : `00000000-0000-4000-8000-00000000000${index - 1}`,
    timestamp: `2026-01-01T00:00:0${index}.000Z`,
  });
  const content = [
    { type: 'text', text: 'Look at this.' },
    { type: 'hologram', data: { shape: 'cube', text: 'a'.repeat(100_000) } },
  ];
  const lines = [
    { ...base, ...at(0), type: 'user', message: { role: 'user', content: 'Show me.' } },
    { ...base, ...at(1), type: 'assistant', message: { id: 'm1', role: 'assistant', model: 'claude-x', content } },
    { ...base, ...at(2), type: 'never-seen', payload: { shape: 'sphere' } },
  ];
  const project = join(folder, 'projects', '-home-ada-harbor');
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, `${sessionId}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await importTranscripts(host.store, { paths: [folder] });
  rmSync(folder, { recursive: true });
  const { sessions } = await host.store.listSessions({ tags: ['imported'] });
  const page = await host.open(browser, `sessions/${encodeURIComponent(sessions[0]?.id ?? '')}`);
  const unknown = rows(page, 'unknown').filter({ hasText: 'hologram' });
  await unknown.locator('summary').click();
  await unknown.getByText('"shape"').waitFor();
  await reacts(page);
  await page.keyboard.press('f');
  await page.getByLabel('Find in this conversation').fill('cube');
  await page.getByRole('status').getByText('1 of 1').waitFor();
  await page.close();
});

test('a conversation of 100,000 blocks opens at its end, and a link to a block in the middle opens there', async () => {
  await append('long', 100_000, 5000, (index) =>
    said(index % 2 ? 'assistant' : 'user', `Message ${index}: ${SENTENCE}`),
  );
  const page = await host.open(browser, 'sessions/long');
  await rows(page, 'assistant_text').filter({ hasText: 'Message 99999:' }).waitFor();
  await reacts(page);
  for (let step = 0; step < 20; step++) {
    await page.mouse.move(600, 300);
    await page.mouse.wheel(0, -3000);
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await nodes(page)).toBeLessThan(MAX_NODES);
  }
  await page.goto(host.page('sessions/long?q=Message+50000:'));
  await rows(page, 'user_message').filter({ hasText: 'Message 50000:' }).waitFor();
  await page.keyboard.press('Escape'); // closes the find bar
  await reacts(page);
  await page.close();
});
