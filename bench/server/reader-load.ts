/** The cost of five hundred readers over HTTP for the agent that they read. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { atLeast, atMost, type Figure, info, median } from '../figure.ts';
import { type Cost, PIECES_PER_SECOND, runPacedAgent, runPacedSession } from '../inbox/paced-agent.ts';
import type { StreamReport } from './readers.ts';

const READERS = 500;
const ROUNDS = 5;
const MAX_SLOWDOWN = 1.1;

interface Read extends Cost {
  readonly report: StreamReport;
  /** Milliseconds from the agent's end until the slowest reader has read it. */
  readonly lagMs: number;
}

export async function* readerFigures(section: string, path: (name: string) => string): AsyncIterable<Figure> {
  const alone: Cost[] = [];
  const beside: Read[] = [];
  const inside: Read[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await runPacedAgent(path(`alone-${round}.db`)));
    beside.push(await servedBeside(path(`beside-${round}.db`)));
    inside.push(await servedInside(path(`inside-${round}.db`)));
  }
  const slowdown = (served: readonly Read[]): number => median(served.map(({ ms }, i) => ms / (alone[i]?.ms ?? 0)));
  const what = `${READERS} HTTP readers in one other process, ${PIECES_PER_SECOND} pieces a second`;
  const note = `${Math.round(median(alone.map(({ ms }) => ms)))} ms alone`;
  yield atMost(
    section,
    `agent’s time with ${what}, the server beside it / alone`,
    slowdown(beside),
    MAX_SLOWDOWN,
    note,
  );
  yield atMost(
    section,
    `agent’s time with ${what}, the server in its process / alone`,
    slowdown(inside),
    MAX_SLOWDOWN,
    note,
  );
  const complete = Math.min(...[...beside, ...inside].map(({ report }) => report.complete));
  yield atLeast(section, 'readers that read everything to its end, in every round', complete, READERS);
  yield info(
    section,
    'ms from the agent’s end until the slowest reader has it, server beside',
    median(beside.map(({ lagMs }) => lagMs)),
  );
  yield info(
    section,
    'ms from the agent’s end until the slowest reader has it, server inside',
    median(inside.map(({ lagMs }) => lagMs)),
  );
  const { items = 0, bytes = 0 } = beside.at(-1)?.report ?? {};
  yield info(section, 'items that each reader read', items / READERS, `${Math.round(bytes / READERS)} bytes`);
}

async function servedBeside(database: string): Promise<Read> {
  const host = fork(join(import.meta.dirname, 'host.ts'), [database]);
  const [url] = (await once(host, 'message')) as [string];
  const readers = await startReaders(url);
  const cost = await runPacedAgent(database);
  const read = await endOf(readers, cost);
  const ended = once(host, 'exit');
  host.disconnect();
  await ended;
  return read;
}

async function servedInside(database: string): Promise<Read> {
  const store = await sqliteStore(database);
  const server = createServer({ store });
  const { url } = await server.listen();
  const readers = await startReaders(url);
  const cost = await runPacedSession(store);
  const read = await endOf(readers, cost);
  await server.close();
  await store.close();
  return read;
}

interface Readers {
  readonly child: ChildProcess;
  readonly report: Promise<StreamReport>;
}

async function startReaders(url: string): Promise<Readers> {
  const child = fork(join(import.meta.dirname, 'readers.ts'), [url, String(READERS)]);
  await once(child, 'message');
  return { child, report: once(child, 'message').then(([report]) => report as StreamReport) };
}

async function endOf({ child, report }: Readers, cost: Cost): Promise<Read> {
  const endedAt = Date.now();
  const ended = once(child, 'exit');
  const read = await report;
  await ended;
  return { ...cost, report: read, lagMs: read.lastAt - endedAt };
}
