/**
 * D74 over HTTP: a reader that is cut off at random, again and again, and reconnects with `Last-Event-ID` to one of two servers, ends in the
 * state of the log, while an agent with parallel children streams in another process, is killed and resumed.
 * `SEED=<seed>` repeats a failure as far as processes can be repeated.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import type { SessionEvent, Store, TailItem } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import type { LogConverter } from '../../src/transcripts/own-log.ts';
import { advancing } from '../loop/agent.ts';
import { Life, World } from '../loop/mortal.ts';
import { hesitant } from '../session/tail/hesitant.ts';
import { oneLife } from '../session/tail/one-life.ts';
import { StrictReader } from '../session/tail/strict-reader.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { serve, sseMessages } from './support.ts';

const KILLS = 3;
/** Comments without a new item after which a reader that differs from the log is wrong. */
const PATIENCE = 100;

let agent: BundledScript;
let directory: string;
beforeAll(async () => {
  agent = await bundleScript(join(import.meta.dirname, '../session/tail/agent-child.ts'));
  directory = mkdtempSync(join(tmpdir(), 'holdfast-server-'));
});
afterAll(() => {
  agent.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** Requests the stream of the session from a server. */
type Connect = (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;
const STREAM = '/sessions/session/stream?wait=true';

/** A reader with one converter for all its connections. */
class CutReader {
  readonly strict = new StrictReader();
  cuts = 0;
  readonly #servers: readonly Connect[];
  readonly #random: () => number;
  readonly #converter: LogConverter = logConverter({ machinery: true });
  #state = createConversationState();
  #last: string | undefined;
  #isStopped = true;
  #reading: Promise<void> = Promise.resolve();

  constructor(servers: readonly Connect[], random: () => number) {
    this.#servers = servers;
    this.#random = random;
  }

  start(): void {
    this.#isStopped = false;
    this.#reading = this.#readAndCut();
  }

  /** Stops cutting, and reads until it shows what a reload shows; returns what is wrong. */
  async check(reloaded: string): Promise<readonly string[]> {
    this.#isStopped = true;
    await this.#reading;
    let silence = 0;
    if (JSON.stringify(this.#state) !== reloaded) {
      await this.#connect((isItem) => {
        silence = isItem ? 0 : silence + 1;
        return silence > PATIENCE || JSON.stringify(this.#state) === reloaded;
      });
    }
    const isSame = JSON.stringify(this.#state) === reloaded;
    return [
      ...this.strict.wrong,
      ...(isSame ? [] : [`after ${this.#last} it shows ${JSON.stringify(this.#state).slice(-500)}`]),
    ];
  }

  async #readAndCut(): Promise<void> {
    while (!this.#isStopped) {
      let left = Math.floor(this.#random() * 12);
      await this.#connect((isItem) => (isItem ? --left < 0 : this.#random() < 0.2) || this.#isStopped);
      this.cuts++;
    }
  }

  /** Reads until `isEnough`, then cuts the connection. */
  async #connect(isEnough: (isItem: boolean) => boolean): Promise<void> {
    const cut = new AbortController();
    const connect = this.#servers[Math.floor(this.#random() * this.#servers.length)];
    const headers: Record<string, string> = this.#last === undefined ? {} : { 'last-event-id': this.#last };
    try {
      const response = await connect?.(headers, cut.signal);
      if (response?.status !== 200) throw new Error(`status ${response?.status}`);
      for await (const { id, event, data } of sseMessages(response)) {
        const isItem = event === undefined && data !== undefined;
        if (isItem) this.#take(JSON.parse(data), id);
        if (isEnough(isItem)) return;
      }
    } finally {
      cut.abort();
    }
  }

  #take(item: TailItem, id: string | undefined): void {
    expect(id).toBe(item.cursor);
    this.strict.read(item);
    this.#state = reduceConversationEvents(this.#state, this.#converter.push(item));
    this.#last = id;
  }
}

async function reload(store: Store): Promise<string> {
  const drafts = await store.readDraft('session');
  const log: SessionEvent[] = [];
  for await (const event of store.read('session')) log.push(event);
  const events = messagesToEvents(log, { machinery: true, drafts });
  return JSON.stringify(reduceConversationEvents(createConversationState(), events));
}

/** Each round is another agent, which dies up to 12 times. `TAIL_ROUNDS` asks for more of them. */
const ROUNDS = Number(process.env.TAIL_ROUNDS ?? 4);

test('in one process, with reads that take turns: whatever happens between two of them, no piece is lost or doubled', async () => {
  const random = randomFrom(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    const world = new World();
    const store = hesitant(world.store, random);
    const servers = [0, 1].map(() => createServer({ store, heartbeatMs: 2 }));
    const streams = servers.map(
      ({ fetch }): Connect =>
        (headers, signal) =>
          fetch(new Request(`http://127.0.0.1${STREAM}`, { headers: { host: '127.0.0.1', ...headers }, signal })),
    );
    const readers = Array.from({ length: 4 }, () => new CutReader(streams, random));
    for (let life = 0, end = 'died'; end === 'died'; life++) {
      for (const reader of readers) reader.start();
      const one = new Life(world, life < 12 ? 1 + Math.floor(random() * 250) : Number.POSITIVE_INFINITY);
      end = await advancing(world.clock, Promise.race([oneLife(one, random), one.died]));
      const reloaded = await reload(world.store);
      for (const reader of readers)
        expect(await reader.check(reloaded), `seed ${SEED}, life ${life} of round ${round}`).toEqual([]);
      world.clock.advance(60_000); // its lease expires
    }
    for (const server of servers) await server.close();
  }
}, 300_000);

function run(
  path: string,
  args: readonly string[],
): { readonly child: ChildProcess; line(): Promise<string>; ended: Promise<unknown> } {
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value ?? 'ended', ended: once(child, 'close') };
}

test('a reader that is cut off hundreds of times shows the log and its drafts, no character lost or doubled', async () => {
  const random = randomFrom(SEED);
  const database = join(directory, 'agent.db');
  const stores = [await sqliteStore(database), await sqliteStore(database)] as const;
  const servers = await Promise.all(stores.map((store) => serve({ store, heartbeatMs: 20 })));
  const readers = Array.from(
    { length: 3 },
    () =>
      new CutReader(
        servers.map(
          ({ url }) =>
            (headers, signal) =>
              fetch(`${url}${STREAM}`, { headers, signal }),
        ),
        random,
      ),
  );
  let kills = 0;
  for (let status = ''; status !== 'completed'; ) {
    for (const reader of readers) reader.start();
    const running = run(agent.path, [database, String(SEED + kills)]);
    expect(await running.line()).toBe('begun');
    const killed = kills < KILLS ? setTimeout(200 + random() * 600, 'killed') : new Promise<never>(() => {});
    status = await Promise.race([running.line(), killed]);
    if (status === 'killed') {
      kills++;
      running.child.kill('SIGKILL');
    }
    await running.ended;
    const reloaded = await reload(stores[0]);
    for (const reader of readers)
      expect(await reader.check(reloaded), `seed ${SEED}, after ${kills} kills`).toEqual([]);
  }
  expect(kills).toBe(KILLS);
  expect(readers.reduce((sum, { cuts }) => sum + cuts, 0)).toBeGreaterThan(200);
  expect(readers[0]?.strict.counts['message/delta']).toBeGreaterThan(20);
  for (const { errors } of servers) expect(errors).toEqual([]);
  for (const { server } of servers) await server.close();
  for (const store of stores) await store.close();
}, 60_000);
