/** Sending an input compared with a raw insert of the same bytes, and the time until another process has placed it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type NewEvent, openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { inDirectory, timed } from '../append/workload.ts';
import { atMost, type Figure, info, median } from '../figure.ts';
import { rawDatabase, rawInsert } from '../raw-inserts.ts';

const TEXT = 'x'.repeat(600);
const WARM_UP = 300;
/** Sends before anything is measured: the raw insert is native code from the start, without them the compiler is measured. */
const COMPILED_SENDS = 10_000;
const SENDS = 3_000;
/** Ours and raw alternate, this many at a time: the cost of a sync drifts, the ratio does not. */
const TURN = 10;

export function sending(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    const store = await sqliteStore(path('store.db'));
    const compiled = await openSession({ store, id: 'compiled' });
    for (let n = 0; n < COMPILED_SENDS; n++) await compiled.send(TEXT, { id: `message-${n}` });
    await compiled.close();
    const session = await openSession({ store, id: 's' });
    const database = rawDatabase(path('raw.db'));
    const insert = rawInsert(database);
    const event = (n: number): NewEvent => ({
      type: 'input/queued',
      at: new Date(n).toISOString(),
      inputId: `message-${n}`,
      mode: 'next',
      content: [{ type: 'text', text: TEXT }],
    });
    const ratios: number[] = [];
    const ours: number[] = [];
    const raw: number[] = [];
    for (let start = 0; start < WARM_UP + SENDS; start += TURN) {
      const mine: number[] = [];
      const theirs: number[] = [];
      for (let n = start; n < start + TURN; n++) {
        mine.push(await timed(() => session.send(TEXT, { id: `message-${n}` })));
      }
      for (let n = start; n < start + TURN; n++) theirs.push(await timed(async () => insert(n, [event(n)])));
      if (start < WARM_UP) continue;
      ours.push(median(mine));
      raw.push(median(theirs));
      ratios.push(median(mine) / median(theirs));
    }
    const note = `${(median(ours) * 1000).toFixed(0)} µs against ${(median(raw) * 1000).toFixed(0)} µs`;
    yield atMost(section, 'send / one raw node:sqlite insert of the same bytes', median(ratios), 1.3, note);
    const last = ratios.length / 10;
    const growth = median(ratios.slice(-last)) / median(ratios.slice(0, last));
    yield info(section, 'that ratio with 3,000 queued inputs / with 300', growth);
    await store.close();
    database.close();
  });
}

const ROUNDS = 30;

/** A steer that is sent here while a tool runs in another process, which ends as soon as it receives the input. */
export function placing(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    const file = path('store.db');
    const store = await sqliteStore(file);
    const session = await openSession({ store, id: 's' });
    const runner = fork(join(import.meta.dirname, 'runner.ts'), [file], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await told(runner, 'ready');
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const placed = new Promise<void>((resolve) => {
        const stop = session.subscribe((event) => {
          if (event.type !== 'message/recorded' || event.inputId !== `m${round}`) return;
          stop();
          resolve();
        });
      });
      times.push(
        await timed(async () => {
          await session.send('Hello', { id: `m${round}` });
          await placed;
        }),
      );
    }
    yield info(
      section,
      'ms from send here to the placed message, seen here, by an idle runner elsewhere',
      median(times),
    );
    runner.kill('SIGKILL');
    await once(runner, 'exit');
    await store.close();
  });
}

async function told(child: ChildProcess, what: string): Promise<void> {
  for (;;) {
    const [message] = await once(child, 'message');
    if (message === what) return;
  }
}
