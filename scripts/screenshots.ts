/**
 * `npm run screenshots`: pictures of every view of Studio in light, dark and on a narrow screen, in the ignored folder `screenshots/`. Needs
 * Chromium. `node scripts/screenshots.ts <folder>` also imports the transcripts of that folder, to look at real sessions.
 * `ONLY=inbox,find` takes those pictures alone.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { importTranscripts } from '../src/transcripts.ts';
import { playDemo } from '../test/browser/studio/play-demo.ts';
import { playRelease } from '../test/browser/studio/play-release.ts';
import { StudioHost } from '../test/browser/studio/studio-host.ts';
import { launch } from '../test/browser/support.ts';
import { recordShots } from './shots/record-shots.ts';
import type { Shot } from './shots/shot.ts';
import { STATE_SHOTS } from './shots/state-shots.ts';

const FOLDER = join(import.meta.dirname, '../screenshots');
const [imported] = process.argv.slice(2);
const ONLY = process.env.ONLY?.split(',');

const SHOTS: readonly Shot[] = [
  { name: 'sessions', path: '', shows: '[data-entry]' },
  { name: 'search', path: '?q=lock', shows: '[data-entry] mark' },
  { name: 'inbox', path: 'inbox', shows: 'section' },
  { name: 'conversation', path: 'sessions/lock-bug', shows: 'article' },
  { name: 'conversation-start', path: 'sessions/lock-bug', shows: 'article', before: toTop },
  { name: 'subagents', path: 'sessions/lock-research', shows: 'article', before: openAll },
  { name: 'approval', path: 'sessions/letter', shows: 'section' },
  { name: 'unknown-outcome', path: 'sessions/charge', shows: 'section' },
  { name: 'running', path: 'sessions/running', shows: 'article' },
  { name: 'palette', path: '', shows: '[data-entry]', before: (page) => page.keyboard.press('Control+k') },
  { name: 'keys', path: 'sessions/lock-bug', shows: 'article', before: (page) => page.keyboard.press('?') },
  { name: 'gone', path: 'sessions/nothing', shows: 'p' },
];

const LOOKS = [
  { look: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { look: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { look: 'narrow', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const host = await StudioHost.start(playRelease);
const browser = await launch();
try {
  await playDemo(host);
  const ofRecord = await recordShots(host);
  if (imported !== undefined) await importTranscripts(host.store, { paths: [imported] });
  const { sessions } = await host.store.listSessions({ tags: ['imported'], limit: 20 });
  const more = sessions.map(
    ({ id }, index): Shot => ({
      name: `imported-${index}`,
      path: `sessions/${encodeURIComponent(id)}`,
      shows: 'article',
    }),
  );
  for (const shot of [...SHOTS, ...ofRecord, ...STATE_SHOTS, ...more]) {
    if (ONLY && !ONLY.includes(shot.name)) continue;
    for (const look of LOOKS) await take(browser, shot, look);
  }
} finally {
  await browser.close();
  await host.stop();
}
console.log(`the pictures are in ${FOLDER}`);

async function take(
  opened: Browser,
  { name, path, shows, before }: Shot,
  { look, ...options }: (typeof LOOKS)[number],
): Promise<void> {
  const page = await host.open(opened, path, options);
  await page.locator(shows).first().waitFor({ timeout: 10_000 });
  await before?.(page);
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  await page.screenshot({ path: join(FOLDER, `${name}-${look}.png`) });
  await page.close();
}

async function toTop(page: Page): Promise<void> {
  await page.locator('[role=log]').evaluate((box) => Object.assign(box, { scrollTop: 0 }));
}

async function openAll(page: Page): Promise<void> {
  for (const name of ['researcher', 'lead']) {
    await page.locator('article[data-type=subagent] button[aria-expanded=false]', { hasText: name }).first().click();
  }
}
