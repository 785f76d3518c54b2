/** Files in Studio: the conversation is exported, and images that are stored outside of their message are shown. */
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StudioHost } from './studio/studio-host.ts';
import { rows } from './studio/studio-page.ts';
import { launch } from './support.ts';

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

test('a conversation is exported as HTML, Markdown and JSON, without secrets if a person wants that', async () => {
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  await host.act('sessions/export', { title: 'Harbor: the Tides' }, 'PATCH');
  await host.send('export', `Use ${secret}`);
  await host.reaches('export', 'completed');
  const page = await host.open(browser, 'sessions/export');
  const exported = async (format: string): Promise<readonly [name: string, content: string]> => {
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('button', { name: format, exact: true }).click(),
    ]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')];
  };
  const [htmlName, html] = await exported('HTML');
  expect(htmlName).toBe('harbor-the-tides.html');
  expect(html).toContain(`I have read: Use ${secret}`);
  const [jsonName, json] = await exported('JSON');
  expect(jsonName).toBe('harbor-the-tides.json');
  expect(JSON.stringify(JSON.parse(json))).toContain(secret);
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByLabel('Leave out what looks like a secret').check();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('e');
  await page.getByLabel('Leave out what looks like a secret').check();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('dialog').getByRole('button', { name: 'Markdown' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('harbor-the-tides.md');
  const markdown = readFileSync(await download.path(), 'utf8');
  expect(markdown).toContain('I have read: Use ');
  expect(markdown).not.toContain(secret);
  await page.close();
});

test('a picture that is stored under its hash is read from the server and shown', async () => {
  const painter = await browser.newPage({ viewport: { width: 900, height: 900 } });
  await painter.setContent('<canvas width=900 height=900></canvas>');
  const data = (await painter.evaluate(`(() => {
    const canvas = document.querySelector('canvas');
    const context = canvas.getContext('2d');
    const pixels = context.createImageData(900, 900);
    let noise = 1; // xorshift: what PNG cannot make small
    pixels.data.forEach((_, i, data) => {
      noise ^= noise << 13;
      noise ^= noise >>> 17;
      noise ^= noise << 5;
      data[i] = i % 4 === 3 ? 255 : noise & 255;
    });
    context.putImageData(pixels, 0, 0);
    return canvas.toDataURL('image/png').split(',')[1];
  })()`)) as string;
  await painter.close();
  await host.act('sessions/picture/inputs', { input: [{ type: 'image', mediaType: 'image/png', data }] });
  await host.reaches('picture', 'completed');
  const { state } = await host.json<{ readonly state: unknown }>('sessions/picture/state');
  expect(JSON.stringify(state)).toContain('"data":"sha256:');
  const page = await host.open(browser, 'sessions/picture');
  const image = rows(page, 'user_message').locator('img');
  await image.waitFor();
  await expect.poll(() => page.evaluate('document.querySelector("article img").naturalWidth')).toBe(900);
  await page.close();
});
