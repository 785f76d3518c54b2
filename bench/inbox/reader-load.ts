/** The cost of a hundred readers in another process for the agent that they read. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { createAdapter, definePrompt, defineTool, type Model, openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { timed } from '../append/workload.ts';
import { atMost, type Figure, info, median } from '../figure.ts';
import type { ReaderReport } from './readers.ts';

const READERS = 100;
const ROUNDS = 5;
const TURNS = 5;
const PIECES = 20;
const PIECES_PER_SECOND = 50;
const MAX_SLOWDOWN = 1.1;

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

export async function* readerFigures(section: string, path: (name: string) => string): AsyncIterable<Figure> {
  const alone: Cost[] = [];
  const read: Cost[] = [];
  let report: ReaderReport | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await run(path(`alone-${round}.db`)));
    const database = path(`read-${round}.db`);
    const readers = await startReaders(database);
    read.push(await run(database));
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

async function run(database: string): Promise<Cost> {
  const store = await sqliteStore(database);
  const session = await openSession({ store, id: 'session' });
  const note = defineTool({
    name: 'note',
    description: 'Notes',
    input: z.object({}),
    effect: 'idempotent',
    execute: () => 'noted',
  });
  const prompt = definePrompt({ ns: 'bench', key: 'readers', instructions: 'Work.', tools: [note] });
  const adapter = createAdapter({ model: pacedModel() });
  const before = process.cpuUsage();
  const ms = await timed(() => adapter.evaluate(prompt, { session, input: 'Go.' }));
  const { user, system } = process.cpuUsage(before);
  await session.close();
  await store.close();
  return { ms, cpuMs: (user + system) / 1000 };
}

/** Streams this many pieces a second, calls a tool after each response, and ends after some turns. */
function pacedModel(): Model {
  return {
    provider: 'bench',
    modelId: 'paced',
    async *stream({ turn }) {
      const delta = 'eight words of text that are said aloud ';
      for (let i = 0; i < PIECES; i++) {
        await setTimeout(1000 / PIECES_PER_SECOND);
        yield { type: 'text-delta', blockId: 'text', delta };
      }
      const toolCalls = turn < TURNS ? [{ callId: `call_${turn}`, name: 'note', arguments: '{}' }] : [];
      yield { type: 'finish', answer: { content: [{ type: 'text', text: delta.repeat(PIECES) }], toolCalls } };
    },
  };
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
