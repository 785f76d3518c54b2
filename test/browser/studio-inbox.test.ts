/** The inbox of Studio: each thing that waits for a person is decided there, and the agent continues. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { giveUp } from './studio/give-up.ts';
import { playScenes } from './studio/scenes.ts';
import { StudioHost } from './studio/studio-host.ts';
import { launch } from './support.ts';

let browser: Browser;
let host: StudioHost;
let page: Page;
beforeAll(async () => {
  browser = await launch();
  host = await StudioHost.start();
  await playScenes(host);
});
beforeEach(async () => {
  await page?.close();
  page = await host.open(browser, 'inbox');
});
afterAll(async () => {
  await browser?.close();
  await host?.stop();
});

const entry = (title: string): Locator => page.locator('ul[aria-label=Waiting] > li').filter({ hasText: title });

test('the sidebar counts what waits', async () => {
  await page.getByRole('link', { name: 'Inbox 4 waiting' }).first().waitFor();
});

test('a call is approved with the arguments that a person changed; text that is no JSON cannot be approved', async () => {
  const letter = entry('Tell Ada that it is fixed');
  await letter.getByText('expires in').waitFor();
  const field = letter.getByLabel('Arguments');
  expect(JSON.parse(await field.inputValue())).toEqual({ to: 'Ada', text: 'The lock is fixed.' });
  await field.fill('{ "to": "Ada"');
  await letter.getByText('This is no JSON').waitFor();
  expect(await letter.getByRole('button', { name: 'Approve with these arguments' }).isDisabled()).toBe(true);
  await field.fill('{ "to": "Grace", "text": "It is fixed." }');
  await letter.getByRole('button', { name: 'Approve with these arguments' }).click();
  await letter.waitFor({ state: 'detached' });
  await host.reaches('letter', 'completed');
  expect(host.ran.filter(({ name }) => name === 'send_letter').map(({ input }) => input)).toEqual([
    { to: 'Grace', text: 'It is fixed.' },
  ]);
});

test('an unknown outcome shows what the tool had printed, and is settled with its result without running again', async () => {
  const charge = entry('Charge order B-7');
  await charge.getByText('waiting for confirmation').waitFor();
  await charge.getByText("The tool's own check could not find out.").waitFor();
  await charge.getByLabel('Result').fill('charged, says the bank');
  await charge.getByRole('button', { name: 'It returned this' }).click();
  await charge.waitFor({ state: 'detached' });
  await host.reaches('charge', 'completed');
  expect(host.ran.filter(({ name }) => name === 'charge_card')).toHaveLength(1);
});

test('a call runs again only after it was confirmed', async () => {
  await host.send('charge-2', 'Charge order C-1.');
  await host.reaches('charge-2', 'suspended');
  const before = host.ran.filter(({ name }) => name === 'charge_card').length;
  const charge = entry('charge-2');
  await charge.getByRole('button', { name: 'Run it again…' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(host.ran.filter(({ name }) => name === 'charge_card')).toHaveLength(before);
  await charge.getByRole('button', { name: 'Run it again…' }).click();
  await page.getByRole('button', { name: 'Run it again', exact: true }).click();
  await expect.poll(() => host.ran.filter(({ name }) => name === 'charge_card').length).toBe(before + 1);
});

test('a spent budget is raised, and the agent continues', async () => {
  const book = entry('Translate the book');
  await book.getByText('Its budget is spent').waitFor();
  await book.getByText(/So far: 1 turn, \d+ tokens/).waitFor();
  expect(await book.getByLabel('Limit to raise').inputValue()).toBe('maxTokens');
  expect(Number(await book.getByLabel('Most tokens').inputValue())).toBeGreaterThan(30);
  await book.getByLabel('Limit to raise').selectOption('Output tokens');
  await book.getByLabel('Most output tokens').waitFor();
  await book.getByLabel('Limit to raise').selectOption('Tokens');
  await book.getByLabel('Most tokens').fill('100000');
  await book.getByRole('button', { name: 'Raise and continue' }).click();
  await book.waitFor({ state: 'detached' });
  await host.reaches('budget-book', 'completed');
});

test('an evaluation is given up only after it was confirmed', async () => {
  await host.send('budget-2', 'Translate another book.');
  await host.reaches('budget-2', 'suspended');
  const book = entry('budget-2');
  await book.getByRole('button', { name: 'Give it up…' }).click();
  await page.getByRole('dialog', { name: 'Give it up?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await book.getByRole('button', { name: 'Give it up…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Give it up', exact: true }).click();
  await book.waitFor({ state: 'detached' });
});

test('a provider that failed is tried again', async () => {
  host.script('Ask the oracle', ['Tomorrow brings rain.']);
  const oracle = entry('Ask the oracle');
  await oracle.getByText('Its provider failed').waitFor();
  await oracle.getByRole('button', { name: 'Try again' }).click();
  await host.reaches('oracle', 'completed');
});

test('an action that the server refuses is said in a sentence, and the form stays', async () => {
  await host.send('letter-2', 'Tell Ada again.');
  await host.reaches('letter-2', 'suspended');
  const letter = entry('letter-2');
  await page.route('**/calls/deny', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'CALL_OPEN', message: 'it was decided already' } } }),
  );
  await letter.getByRole('button', { name: 'Deny' }).click();
  await letter.getByRole('alert').getByText('It was decided already.').waitFor();
  await letter.getByRole('button', { name: 'Approve' }).waitFor();
});

test('a session that workers gave up on says why, and is tried again', async () => {
  await giveUp(host, 'given-up');
  await page.reload();
  const given = entry('given-up');
  await given.getByText('Workers gave up after 5 failed attempts').waitFor();
  await given.getByText('Its tools could not be loaded.').waitFor();
  await given.getByRole('button', { name: 'Try again' }).click();
  await given.waitFor({ state: 'detached' });
  await host.reaches('given-up', 'completed');
});

test('a session that a person stopped does not wait; its conversation can be continued', async () => {
  host.commands.close();
  host.script('Walk', [{ toolCalls: [{ name: 'Bash', arguments: { command: 'walk' } }] }, 'I walked.']);
  await host.send('walk', 'Walk');
  await host.send('letter-3', 'Tell Ada once more.');
  await expect.poll(() => host.ran.some(({ input }) => input === 'walk')).toBe(true);
  await host.act('sessions/walk/stop');
  host.commands.open();
  await host.reaches('walk', 'suspended');
  await host.reaches('letter-3', 'suspended');
  await page.reload();
  await entry('letter-3').waitFor();
  expect(await entry('walk').count()).toBe(0);
  await page.goto(host.page('sessions/walk'));
  await page.getByRole('button', { name: 'Continue' }).click();
  await host.reaches('walk', 'completed');
});

test('a conversation says in words for people that a call waits, and its form is below', async () => {
  await host.send('letter-4', 'Tell Ada a last time.');
  await host.reaches('letter-4', 'suspended');
  await page.goto(host.page('sessions/letter-4'));
  await page.locator('article[data-type=system]').getByText('Waits for approval: send_letter').waitFor();
  await page.locator('article[data-type=tool_use]').getByText('Waits for approval').waitFor();
  expect(await page.locator('main').innerText()).not.toMatch(/approveToolCall|running/);
  await page.getByRole('button', { name: 'Approve' }).click();
  await host.reaches('letter-4', 'completed');
});
