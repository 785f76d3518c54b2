/** The two files of docs/react.md: the server runs what the page sends, and the page shows it, streamed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { type HTMLInputElement, Window } from 'happy-dom';
import { act, createElement, type FunctionComponent } from 'react';
import { build } from 'rolldown';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../server/support.ts';
import { programIn, ROOT, withSources } from '../support/documents.ts';

const PAGE = 'docs/react.md';
const cache = join(ROOT, 'node_modules/.cache');
mkdirSync(cache, { recursive: true });
const directory = mkdtempSync(join(cache, 'holdfast-react-')); // below node_modules, where React is found
const place = mkdtempSync(join(tmpdir(), 'holdfast-react-')); // Node runs no TypeScript below node_modules
afterAll(() => {
  for (const path of [directory, place]) rmSync(path, { recursive: true, force: true });
});

async function serve(): Promise<string> {
  writeFileSync(join(place, 'serve-chat.mts'), withSources(programIn(PAGE, 'serve-chat.mts')));
  const child = spawn(process.execPath, ['--no-warnings', 'serve-chat.mts'], {
    cwd: place,
    env: { ...process.env, PORT: '0', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const { value } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  return String(value);
}

/** The component of the page, as Vite would bundle it. */
async function bundledChat(): Promise<FunctionComponent<{ url: string }>> {
  writeFileSync(join(directory, 'chat.tsx'), programIn(PAGE, 'chat.tsx'));
  const file = join(directory, 'chat.mjs');
  await build({
    input: join(directory, 'chat.tsx'),
    external: /^react/,
    resolve: { alias: { 'holdfast/react': join(ROOT, 'src/react.ts') } },
    transform: { jsx: 'react-jsx' },
    output: { file },
  });
  const { Chat } = (await import(pathToFileURL(file).href)) as { Chat: FunctionComponent<{ url: string }> };
  return Chat;
}

test('the page sends, shows the response word by word, and keeps a text that could not be sent', async () => {
  const url = await serve();
  const Chat = await bundledChat();
  const dom = new Window();
  Object.assign(globalThis, { window: dom, document: dom.document, IS_REACT_ACT_ENVIRONMENT: true });
  onTestFinished(async () => {
    await dom.happyDOM.close();
    Object.assign(globalThis, { window: undefined, document: undefined });
  });
  const { createRoot } = await import('react-dom/client');
  const element = dom.document.createElement('div');
  dom.document.body.append(element);
  const root = createRoot(element as unknown as Element);
  onTestFinished(() => act(async () => root.unmount())); // before the window is closed: hooks run in reverse order
  await act(async () => root.render(createElement(Chat, { url: `${url}/sessions/ada` })));
  const rendered = (isRendered: () => boolean): Promise<void> =>
    until(async () => {
      await act(() => new Promise((resolve) => setTimeout(resolve, 1)));
      return isRendered();
    });
  const input = element.querySelector('input') as HTMLInputElement;
  const type = (text: string): Promise<void> =>
    act(async () => {
      Object.getOwnPropertyDescriptor(dom.HTMLInputElement.prototype, 'value')?.set?.call(input, text);
      input.dispatchEvent(new dom.Event('input', { bubbles: true }));
    });
  const submit = (): Promise<void> =>
    act(
      async () =>
        void element.querySelector('form')?.dispatchEvent(new dom.Event('submit', { cancelable: true, bubbles: true })),
    );
  const items = (): readonly (string | null)[] =>
    [...element.querySelectorAll('li')].map(({ textContent }) => textContent);

  await rendered(() => element.textContent?.includes('live') === true);
  await type('Hello');
  await submit();
  const seen = new Set<string | null | undefined>();
  await rendered(() => {
    seen.add(items()[1]);
    return items()[1] === 'I have read 1 messages.';
  });
  expect(items()).toEqual(['Hello', 'I have read 1 messages.']);
  expect([...seen].filter((text) => text && text !== 'I have read 1 messages.').length).toBeGreaterThan(0);
  expect(input.value).toBe('');

  const tooLong = 'x'.repeat(9 * 1024 ** 2); // the server refuses bodies of more than 8 MiB
  await type(tooLong);
  await submit();
  await rendered(() => element.querySelector('b')?.textContent !== '');
  expect(input.value === tooLong).toBe(true);
});
