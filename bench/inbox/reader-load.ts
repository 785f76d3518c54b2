/** The cost of a hundred readers in another process for the agent that they read. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { atMost, type Figure, info, median } from '../figure.ts';
import { type Cost, PIECES_PER_SECOND, runPacedAgent } from './paced-agent.ts';
import type { ReaderReport } from './readers.ts';

const READERS = 100;
const ROUNDS = 5;
const MAX_SLOWDOWN = 1.1;

export async function* readerFigures(section: string, path: (name: string) => string): AsyncIterable<Figure> {
  const alone: Cost[] = [];
  const read: Cost[] = [];
  let report: ReaderReport | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await runPacedAgent(path(`alone-${round}.db`)));
    const database = path(`read-${round}.db`);
    const readers = await startReaders(database);
    read.push(await runPacedAgent(database));
    report = await readers.end();
  }
  const ratios = (cost: keyof Cost): number => median(read.map((each, i) => each[cost] / (alone[i]?.[cost] ?? 0)));
  const what = `${READERS} readers in another process, ${PIECES_PER_SECOND} pieces a second`;
  const note = `${Math.round(median(alone.map(({ ms }) => ms)))} ms alone`;
  yield atMost(section, `agent’s time with ${what} / alone`, ratios('ms'), MAX_SLOWDOWN, note);
  yield info(section, `agent’s processor time with ${what} / alone`, ratios('cpuMs'));
  yield info(section, 'items that each reader read', (report?.items ?? 0) / READERS);
  yield info(section, 'processor time of all readers', report?.cpuMs ?? 0, 'ms');
}

async function startReaders(database: string): Promise<{ end(): Promise<ReaderReport> }> {
  const child = fork(join(import.meta.dirname, 'readers.ts'), [database, String(READERS)]);
  await once(child, 'message');
  return {
    async end() {
      const ended = once(child, 'exit');
      child.send('end');
      const [report] = await once(child, 'message');
      child.disconnect();
      await ended;
      return report as ReaderReport;
    },
  };
}
