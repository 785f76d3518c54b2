/** A server with Studio, and agents whose responses a test decides: what a person says chooses the script that the model follows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import type { Store } from '../../../src/index.ts';
import { createAgent, type ModelRequest, type ScriptedTurn, scriptedModel, textOf } from '../../../src/index.ts';
import { createServer, type HoldfastServer } from '../../../src/server.ts';
import { sqliteStore } from '../../../src/sqlite.ts';
import { Gate } from './gate.ts';
import { studioTools } from './studio-tools.ts';

export interface StudioHostOptions {
  readonly hasPage?: boolean;
  /** Where the sessions are; a temporary directory unless given. */
  readonly directory?: string;
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'holdfast-studio-'));
}

/** A running server. Its sessions are kept in a private directory. */
export class StudioHost {
  readonly store: Store;
  /** Opened: responses are streamed at full speed. Closed: before every word the model waits. */
  readonly words: Gate = new Gate();
  /** Opened: commands end. Closed: they wait after they have printed. */
  readonly commands: Gate = new Gate();
  /** What each tool was called with, in order. */
  readonly ran: { readonly name: string; readonly input: unknown }[] = [];
  readonly #scripts = new Map<string, readonly ScriptedTurn[]>();
  readonly #directory: string;
  readonly #hasPage: boolean;
  #server: HoldfastServer | undefined;
  #url = '';

  private constructor(store: Store, directory: string, hasPage: boolean) {
    this.store = store;
    this.#directory = directory;
    this.#hasPage = hasPage;
  }

  /** `prepare` writes sessions into the database before the server has it open. Without `hasPage` Studio is served elsewhere, and not built. */
  static async start(
    prepare?: (database: string) => Promise<void>,
    { hasPage = true, directory = temporaryDirectory() }: StudioHostOptions = {},
  ): Promise<StudioHost> {
    const database = join(directory, 'studio.db');
    await prepare?.(database);
    const host = new StudioHost(await sqliteStore(database), directory, hasPage);
    await host.listen();
    return host;
  }

  /** Serves; again after `close`, at the same address if `port` is given. */
  async listen(port = 0): Promise<void> {
    const tools = studioTools(this);
    const adapterOf = (modelId: string) =>
      createAdapter({
        model: scriptedModel((request) => this.#turnFor(request), { modelId, beforePart: () => this.words.passed() }),
        maxModelRetries: 0,
        prices: { [modelId]: { input: 3, output: 15 } },
      });
    const prompt = definePrompt({ ns: 'studio', key: 'assistant', instructions: 'Work with your tools.', tools });
    this.#server = createServer({
      store: this.store,
      studio: this.#hasPage,
      pollMs: 50,
      agents: ({ id, summary }) =>
        createAgent({
          adapter: adapterOf(String(summary?.metadata.model ?? 'scripted-1')),
          prompt,
          ...(id.startsWith('budget') && { budget: { maxTokens: 30 } }),
        }),
    });
    const { url } = await this.#server.listen({ port });
    this.#url = url;
  }

  get url(): string {
    return this.#url;
  }

  /** What the model does when a message begins with this text. */
  script(text: string, turns: readonly ScriptedTurn[]): void {
    this.#scripts.set(text, turns);
  }

  #turnFor({ messages }: ModelRequest): ScriptedTurn {
    const at = messages.findLastIndex(({ role }) => role === 'user');
    const asked = messages[at] ? textOf(messages[at]) : '';
    const turns = [...this.#scripts].find(([text]) => asked.startsWith(text))?.[1] ?? [`I have read: ${asked}`];
    const done = messages.slice(at).filter(({ role }) => role === 'assistant').length;
    return turns[done] ?? turns.at(-1) ?? '';
  }

  /** Sends a message to a session, as another client would. */
  async send(id: string, input: string): Promise<void> {
    await this.act(`sessions/${encodeURIComponent(id)}/inputs`, { input });
  }

  async act(path: string, body?: object, method = 'POST'): Promise<void> {
    const headers = { 'x-holdfast-request': '1', ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${this.#url}/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }

  async json<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.#url}/${path}`)).json()) as T;
  }

  /** Resolves when the newest evaluation of a session has this status and no runner has work in it. */
  async reaches(id: string, status: 'completed' | 'suspended' | 'failed'): Promise<void> {
    const settled = async (): Promise<boolean> => {
      const { sessions } = await this.store.listSessions({ idPrefix: id });
      return sessions.some((session) => session.id === id && session.status === status && !session.work);
    };
    while (!(await settled())) {
      await new Promise<void>((resolve) => {
        const end = this.store.watch(id, () => {
          end();
          resolve();
        });
        setTimeout(() => {
          end();
          resolve();
        }, 50);
      });
    }
  }

  /** The address of a view of Studio. */
  page(path = ''): string {
    return `${this.#url}/studio/${path}`;
  }

  /** Opens a view in a new page. */
  async open(browser: Browser, path = '', options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options);
    await page.goto(this.page(path));
    return page;
  }

  async closeServer(): Promise<void> {
    this.words.open();
    this.commands.open();
    await this.#server?.close({ graceMs: 2000 });
  }

  async stop(): Promise<void> {
    await this.closeServer();
    await this.store.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
