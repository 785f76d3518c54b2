/** What a long conversation costs in Studio, in headless Chromium: until it is on the screen, and while it is scrolled. */
import type { Browser, Page } from 'playwright-core';
import { openSession } from '../src/index.ts';
import { createServer } from '../src/server.ts';
import { sqliteStore } from '../src/sqlite.ts';
import { launch } from '../test/browser/support.ts';
import { inDirectory } from './append/workload.ts';
import { type Figure, info, median, type Section } from './figure.ts';
import { appendLongSession } from './studio/long-session.ts';

const NAME = 'studio';
const BLOCKS = 10_000;
const ROUNDS = 7;
const STEPS = 60;

export const section: Section = {
  name: NAME,
  about: `a session of ${BLOCKS.toLocaleString('en')} blocks against an empty one, in headless Chromium`,
  run: () => inDirectory(figures),
};

async function* figures(path: (name: string) => string): AsyncIterable<Figure> {
  const store = await sqliteStore(path('studio.db'));
  await appendLongSession(store, 'long', BLOCKS);
  await (await openSession({ store, id: 'empty' })).describe({ title: 'Empty' });
  const server = createServer({ store, studio: true });
  const { url } = await server.listen({ port: 0 });
  const browser = await launch();
  try {
    yield* paintFigures(browser, `${url}/studio/sessions`);
    yield* scrollFigures(browser, `${url}/studio/sessions/long`);
  } finally {
    await browser.close();
    await server.close();
    await store.close();
  }
}

/** From the start of the navigation until the session is on the screen: its last block, or the sentence that it is empty. */
async function* paintFigures(browser: Browser, sessions: string): AsyncIterable<Figure> {
  const long: number[] = [];
  const empty: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const first = await painted(browser, `${sessions}/empty`, 'main p');
    const second = await painted(browser, `${sessions}/long`, 'article');
    if (round < 0) continue; // the first round fills caches
    empty.push(first);
    long.push(second);
  }
  const note = `${median(long).toFixed(0)} ms, an empty one ${median(empty).toFixed(0)} ms`;
  yield info(NAME, 'first paint of the session / of an empty one', median(long) / median(empty), note);
}

async function painted(browser: Browser, address: string, selector: string): Promise<number> {
  const page = await browser.newPage();
  await page.addInitScript(`
    globalThis.painted = new Promise((resolve) => {
      const look = () => {
        if (!document.querySelector(${JSON.stringify(selector)})) return requestAnimationFrame(look);
        requestAnimationFrame(() => resolve(performance.now()));
      };
      look();
    });
  `);
  await page.goto(address);
  const ms = (await page.evaluate('painted')) as number;
  await page.close();
  return ms;
}

async function* scrollFigures(browser: Browser, address: string): AsyncIterable<Figure> {
  const page = await browser.newPage();
  await page.addInitScript(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
  `);
  await page.goto(address);
  await page.locator('article').first().waitFor();
  await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))');
  for (const [how, pixels] of [
    ['read', -300],
    ['flung', -4000],
  ] as const) {
    const { nodes, tasks } = await scrolled(page, pixels);
    const longest = Math.max(0, ...tasks);
    yield info(
      NAME,
      `longest task in ms while it is ${how}`,
      longest,
      `${tasks.length} over 50 ms in ${STEPS} steps of ${-pixels} pixels`,
    );
    yield info(NAME, `nodes on the page at most while it is ${how}`, nodes);
  }
  await page.close();
}

async function scrolled(
  page: Page,
  pixels: number,
): Promise<{ readonly nodes: number; readonly tasks: readonly number[] }> {
  await page.evaluate('longTasks.length = 0');
  await page.mouse.move(600, 300);
  let nodes = 0;
  for (let step = 0; step < STEPS; step++) {
    await page.mouse.wheel(0, pixels);
    nodes = Math.max(
      nodes,
      await page.evaluate<number>(
        `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(document.querySelectorAll('*').length))))`,
      ),
    );
  }
  return { nodes, tasks: (await page.evaluate('longTasks')) as readonly number[] };
}
