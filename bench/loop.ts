/** The cost of the loop compared with its commits. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../src/evaluate.ts';
import { defineTool, type NewEvent, openSession, type ScriptedTurn, type Store, scriptedModel } from '../src/index.ts';
import { sqliteStore } from '../src/sqlite.ts';
import { atMost, type Figure, info, median, type Section } from './figure.ts';
import { rawDatabase, rawInsert } from './raw-inserts.ts';

const NAME = 'loop';
const RESULT = 'x'.repeat(1024);
/** Lengths of conversations, and the limit of a turn in raw inserts: a short one includes its start. */
const TURNS = [
  [50, 1.6],
  [200, 1.5],
  [1000, 1.5],
] as const;
const WARM_UP_TURNS = 600;
/** Warm-up turns: without them the shortest conversations measure the compiler. */
const COMPILED_TURNS = 10_000;

export const section: Section = {
  name: NAME,
  about: 'turns with two instant idempotent tools and 1 KB results each, scripted model, SQLite durable',
  async *run() {
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    try {
      await measure(dir, 'compiled', COMPILED_TURNS);
      for (const [turns, limit] of TURNS) yield* timeFigures(dir, turns, limit);
      yield* byteFigures(dir);
      yield* resumeFigure(dir);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

/** Turns and the raw inserts of their commits alternate, this many at a time: the cost of a sync drifts, the ratio does not. */
const STRETCH = 10;

/** The time of one turn in a batch, and of one raw insert for each of its commits. */
interface Stretch {
  readonly loopMs: number;
  readonly rawMs: number;
  readonly commits: number;
}

async function* timeFigures(dir: string, turns: number, limit: number): AsyncIterable<Figure> {
  const runs: (readonly Stretch[])[] = [];
  for (let i = 0; i < (turns >= 1000 ? 3 : 15); i++) runs.push(await measure(dir, `${turns}-${i}`, turns));
  const all = runs.flat();
  const commits = all.reduce((sum, stretch) => sum + stretch.commits, 0) / all.length;
  yield info(
    NAME,
    `${turns} turns: commits per turn`,
    commits,
    'one of them waits for the disk, the results follow with it',
  );
  const middle = (which: keyof Stretch) => (median(all.map((stretch) => stretch[which])) * 1000).toFixed(0);
  yield atMost(
    NAME,
    `${turns} turns: time per turn / one raw insert per commit`,
    ratioOf(all),
    limit,
    `${middle('loopMs')} µs against ${middle('rawMs')} µs`,
  );
  const tenth = Math.ceil(turns / STRETCH / 10);
  const growth =
    ratioOf(runs.flatMap((run) => run.slice(-tenth))) / ratioOf(runs.flatMap((run) => run.slice(0, tenth)));
  yield atMost(NAME, `${turns} turns: that ratio, last tenth / first tenth`, growth, 1.15);
}

function ratioOf(stretches: readonly Stretch[]): number {
  return median(stretches.map(({ loopMs, rawMs }) => loopMs / rawMs));
}

async function measure(dir: string, name: string, turns: number): Promise<readonly Stretch[]> {
  const database = rawDatabase(join(dir, `raw-${name}.db`));
  const insert = rawInsert(database);
  const inner = await sqliteStore(join(dir, `${name}.db`), { backgroundIndexing: false });
  let appended: (readonly NewEvent[])[] = [];
  const store: Store = {
    ...inner,
    append(sessionId, events, options) {
      appended.push(events);
      return inner.append(sessionId, events, options);
    },
  };
  // Both files past their first growth: a sync costs more until a write-ahead log is overwritten for the first time.
  await converse(inner, WARM_UP_TURNS, () => {}, 'warm-up');
  const filling = [{ type: 'warm/up', at: '', text: RESULT.repeat(2) }];
  for (let n = 0; n < 2 * WARM_UP_TURNS; n++) insert(n, filling);

  const stretches: Stretch[] = [];
  let measured: { readonly ms: number; readonly appended: readonly (readonly NewEvent[])[] }[] = [];
  let began = performance.now();
  await converse(store, turns + 2, (turn) => {
    const ms = performance.now() - began;
    // The first turn starts the evaluation.
    if (turn > 2) measured.push({ ms, appended });
    if (measured.length === STRETCH) {
      const inserts = measured.map((one, n) =>
        timeOf(() => {
          for (const events of one.appended) insert(n, events);
        }),
      );
      const commits = measured.reduce((sum, one) => sum + one.appended.length, 0) / STRETCH;
      stretches.push({ loopMs: median(measured.map((one) => one.ms)), rawMs: median(inserts), commits });
      measured = [];
    }
    appended = [];
    began = performance.now();
  });
  database.close();
  await inner.close();
  return stretches;
}

/** A conversation of this many turns with two calls each, then a response. */
async function converse(
  store: Store,
  turns: number,
  beforeAnswer: (turn: number) => void = () => {},
  id = 'bench',
): Promise<void> {
  const tools = ['read_a', 'read_b'].map((name) =>
    defineTool({
      name,
      description: 'Returns at once',
      input: z.object({ path: z.string() }),
      effect: 'idempotent',
      execute: () => RESULT,
    }),
  );
  const prompt = definePrompt({ ns: 'bench', key: 'loop', instructions: 'Work.', tools });
  const model = scriptedModel(({ turn }): ScriptedTurn => {
    beforeAnswer(turn);
    if (turn > turns) return 'Done.';
    return { toolCalls: tools.map(({ name }) => ({ name, arguments: { path: `src/file-${turn}.ts` } })) };
  });
  const session = await openSession({ store, id });
  await createAdapter({ model }).evaluate(prompt, { session, input: 'Go.', maxTurns: turns + 1 });
  await session.close();
}

async function* byteFigures(dir: string): AsyncIterable<Figure> {
  const turns = 1000;
  // Without the search index, which is updated when nothing else is written, or by a search.
  const store = await sqliteStore(join(dir, 'bytes.db'), { backgroundIndexing: false });
  const before = bytesWritten();
  await converse(store, turns);
  const session = await openSession({ store, id: 'bench' });
  const messages = Buffer.byteLength(JSON.stringify(session.messages()));
  let log = 0;
  for await (const { seq: _, ...event } of store.read('bench')) log += Buffer.byteLength(JSON.stringify(event));
  await store.close(); // includes writing the WAL back into the file
  if (before !== undefined) {
    const written = (bytesWritten() ?? 0) - before;
    yield atMost(
      NAME,
      `${turns} turns: bytes written / bytes of messages`,
      written / messages,
      12,
      `${(written / 1e6).toFixed(1)} MB for ${(messages / 1e6).toFixed(1)} MB of messages`,
    );
  }
  yield atMost(NAME, `${turns} turns: bytes of the log / bytes of messages`, log / messages, 2);
}

/** The bytes that this process has passed to write calls, if the system counts them (Linux). */
function bytesWritten(): number | undefined {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

/** Resuming a killed conversation of 1,000 turns, compared with reading and parsing its rows. */
async function* resumeFigure(dir: string): AsyncIterable<Figure> {
  const path = join(dir, 'resume.db');
  const turns = 1000;
  const store = await sqliteStore(path);
  const crashed = new Error('the process ends here');
  await converse(store, turns, (turn) => {
    if (turn > turns) throw crashed;
  });
  await store.close();

  const ratios: number[] = [];
  for (let i = 0; i < 9; i++) {
    const reading = timeOf(() => readRows(path));
    const reopened = await sqliteStore(path);
    const began = performance.now();
    const session = await openSession({ store: reopened, id: 'bench', readOnly: true });
    const first = session.state.record.evaluations.items.at(-1);
    if (first?.turn !== turns) throw new Error(`expected ${turns} turns, found ${first?.turn}`);
    ratios.push((performance.now() - began) / reading);
    await reopened.close();
  }
  yield atMost(NAME, `resuming after ${turns} turns / reading and parsing the rows`, median(ratios), 2);
}

function timeOf(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function readRows(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  let count = 0;
  for (const row of database.prepare('SELECT * FROM events ORDER BY 1').iterate() as Iterable<
    Record<string, unknown>
  >) {
    for (const value of Object.values(row))
      if (typeof value === 'string' && value.startsWith('{')) count += Object.keys(JSON.parse(value)).length;
  }
  database.close();
  return count;
}
