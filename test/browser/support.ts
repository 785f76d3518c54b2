/** The example's server as a process that can be killed, headless Chromium, and waiting for what a page shows. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from 'playwright-core';
import { bundlePage } from '../../examples/chat/bundle-page.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Chromium without the windows of a browser, if it is installed: the same engine for a quarter of the processor time. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';
const CHROMIUM = process.env.CHROMIUM ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : '/usr/bin/chromium');
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launch(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: apt-get install chromium, or set CHROMIUM`);
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
}

/** One of the example's two pages, and the server behind it. */
export class Example {
  readonly #directory = mkdtempSync(join(tmpdir(), 'holdfast-browser-'));
  readonly #port: number;
  readonly #serverPort: number;
  #process: ChildProcess | undefined;

  private constructor(port: number, serverPort: number) {
    this.#port = port;
    this.#serverPort = serverPort;
  }

  static async start(page: 'conversation-page' | 'use-chat-page'): Promise<Example> {
    const [port, serverPort] = await freePorts();
    const example = new Example(port, serverPort);
    writeFileSync(join(example.#directory, 'page.js'), await bundlePage(page));
    await example.run();
    return example;
  }

  /** Starts the server; again after `kill`, with the same ports and sessions. */
  async run(): Promise<void> {
    const args = ['--no-warnings', '--import', './examples/use-sources.ts', 'examples/chat/serve.ts'];
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        PORT: String(this.#port),
        SERVER_PORT: String(this.#serverPort),
        DIRECTORY: this.#directory,
        SCRIPT: join(this.#directory, 'page.js'),
        WORD_MS: '15',
      },
    });
    this.#process = child;
    if (!child.stdout) throw new Error('its output is not read');
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('http')) return;
    throw new Error('the server ended before it listened');
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  pageUrl(id: string): string {
    return `http://127.0.0.1:${this.#port}/${id}`;
  }

  async json<T>(path: string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.#serverPort}/sessions/${path}`);
    return (await response.json()) as T;
  }

  /** The texts of user and assistant that the log has, in order. */
  async logged(id: string): Promise<readonly string[]> {
    const { state } = await this.json<{ readonly state: { readonly blocks: readonly LoggedBlock[] } }>(`${id}/state`);
    return state.blocks
      .filter(({ type }) => type === 'user_message' || type === 'assistant_text')
      .map(({ content }) => content ?? '');
  }

  /** The same as UI messages. */
  async loggedMessages(id: string): Promise<readonly string[]> {
    const { messages } = await this.json<{ readonly messages: readonly LoggedMessage[] }>(`${id}/ui-messages`);
    return messages.map(({ parts }) => parts.map(({ type, text }) => (type === 'text' ? text : '')).join(''));
  }
}

interface LoggedBlock {
  readonly type: string;
  readonly content?: string;
}
interface LoggedMessage {
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

async function freePorts(): Promise<readonly [number, number]> {
  const servers = await Promise.all(
    [0, 0].map(async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return [ports[0] ?? 0, ports[1] ?? 0];
}

/** What a page shows of its messages, in order. */
export function shown(page: Page): Promise<readonly string[]> {
  return page.locator('li.user, li.assistant').allTextContents();
}

export async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** Resolves when the page shows a text that a message begins with or contains. */
export async function showsText(page: Page, text: string): Promise<void> {
  await page.locator('li', { hasText: text }).first().waitFor();
}

/** Resolves when nothing is being made: no stop button. */
export async function isDone(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
}

export function counted(to: number): string {
  return Array.from({ length: to }, (_, i) => `${i + 1}`).join(' ');
}
