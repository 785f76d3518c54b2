/** The programs of docs/conversation.md show a conversation: in a terminal, and in React while it runs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'rolldown';
import { afterAll, expect, test } from 'vitest';
import { createAgent, openStore, scriptedModel } from '../../src/index.ts';
import { programIn, ROOT, withSources } from '../support/documents.ts';

const PAGE = 'docs/conversation.md';
const cache = join(ROOT, 'node_modules/.cache');
mkdirSync(cache, { recursive: true });
const directory = mkdtempSync(join(tmpdir(), 'holdfast-conversation-'));
const bundles = mkdtempSync(join(cache, 'holdfast-')); // below node_modules, where React is found
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  for (const path of [directory, bundles]) rmSync(path, { recursive: true, force: true });
});

function start(cwd: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, ['--no-warnings', ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  return child;
}

/** What a process prints, up to the first output that holds all of it. */
async function printed(child: ChildProcess, wanted: RegExp): Promise<RegExpExecArray> {
  let output = '';
  if (!child.stdout) throw new Error('its output is not read');
  for await (const line of createInterface({ input: child.stdout })) {
    output += `${line}\n`;
    const found = wanted.exec(output);
    if (found) return found;
  }
  throw new Error(`the process ended without printing ${wanted}:\n${output}`);
}

test('the terminal program shows a conversation that was recorded', async () => {
  const store = await openStore(join(directory, 'chat.db'));
  const agent = createAgent({ name: 'assistant', model: scriptedModel(['Good day.']), instructions: '' });
  await agent.run(await store.session('ada'), 'Hello');
  await store.close();
  writeFileSync(join(directory, 'watch.mts'), withSources(programIn(PAGE, 'watch.mts')));
  const child = start(directory, ['watch.mts', 'ada']);
  const [shown] = await printed(child, /user_message: Hello[\s\S]*assistant_text: Good day\./);
  child.kill();
  expect(shown).toContain('Good day.');
});

/** Renders the page's component on every change, as React would on a screen. */
const BROWSER = `
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { Conversation, followConversation } from './conversation.tsx';
setInterval(() => {}, 60_000); // Node ends while EventSource waits to reconnect; a browser does not
const source = followConversation(process.argv[2]);
source.subscribe(() => console.log(renderToStaticMarkup(createElement(Conversation, { source }))));
`;

async function bundleBrowser(): Promise<string> {
  const place = mkdtempSync(join(directory, 'browser-'));
  writeFileSync(join(place, 'conversation.tsx'), programIn(PAGE, 'conversation.tsx'));
  writeFileSync(join(place, 'browser.ts'), BROWSER);
  await build({
    input: join(place, 'browser.ts'),
    platform: 'node',
    external: /^react/,
    resolve: { alias: { 'holdfast/conversation': join(ROOT, 'src/conversation.ts') } },
    transform: { jsx: 'react-jsx' },
    output: { file: join(bundles, 'browser.mjs') },
  });
  return join(bundles, 'browser.mjs');
}

test('the React component shows every message, also after the server was killed and restarted', async () => {
  const place = mkdtempSync(join(directory, 'server-'));
  writeFileSync(join(place, 'events-server.mts'), withSources(programIn(PAGE, 'events-server.mts')));
  const server = start(place, ['events-server.mts'], { PORT: '0' });
  const [, port = ''] = await printed(server, /port: (\d+)/);
  const url = `http://127.0.0.1:${port}/ada`;
  const post = (id: string, text: string) => fetch(url, { method: 'POST', body: JSON.stringify({ id, text }) });

  const browser = start(place, ['--experimental-eventsource', await bundleBrowser(), url]);
  const lines = createInterface({ input: browser.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const shows = async (text: string): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error('the browser ended');
      if (value.includes(text) && !value.includes('…')) return value;
    }
  };
  await post('m1', 'Hello');
  const first = '<li class="user_message">Hello</li><li class="assistant_text">I have read 1 messages.</li>';
  expect(await shows('I have read 1')).toBe(`<ol>${first}</ol>`);

  server.kill('SIGKILL');
  await once(server, 'exit');
  await printed(start(place, ['events-server.mts'], { PORT: port }), /port: (\d+)/);
  await post('m2', 'And?');
  const second = '<li class="user_message">And?</li><li class="assistant_text">I have read 3 messages.</li>';
  expect(await shows('I have read 3')).toBe(`<ol>${first}${second}</ol>`);
});
