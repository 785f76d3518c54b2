/** Appends of one 600-character message: alone, and by 32 sessions at once, compared with plain inserts of the same bytes. */
import pg from 'pg';
import { type PostgresStore, postgresStore } from '../../src/postgres.ts';
import { message, timed } from '../append/workload.ts';
import { atLeast, atMost, type Figure, info, median } from '../figure.ts';

const SCHEMA = 'holdfast_bench';
const SESSIONS = 32;
const WARM_UP = 200;
/** Inserts and appends alternate, this many at a time: the cost of a sync drifts, the ratio does not. */
const STRETCH = 20;
const STRETCHES = 200;

/** The figures of appending. */
export async function* appends(section: string, url: string): AsyncIterable<Figure> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
  const store = await postgresStore(url, { schema: SCHEMA, backgroundIndexing: false });
  try {
    const insert = await plainInsert(client);
    const append = appender(store, 'alone');
    for (let n = 0; n < WARM_UP; n++) {
      await insert();
      await append();
    }
    const stretches: { readonly plain: number; readonly own: number }[] = [];
    for (let i = 0; i < STRETCHES; i++) {
      const plain = await timed(() => repeat(STRETCH, insert));
      const own = await timed(() => repeat(STRETCH, append));
      stretches.push({ plain: plain / STRETCH, own: own / STRETCH });
    }
    const [plain, own] = [median(stretches.map((each) => each.plain)), median(stretches.map((each) => each.own))];
    yield atMost(
      section,
      'one session: append / plain insert of the same bytes',
      median(stretches.map((each) => each.own / each.plain)),
      1.2,
      `${(own * 1000).toFixed(0)} µs against ${(plain * 1000).toFixed(0)} µs`,
    );
    const sessions = Array.from({ length: SESSIONS }, (_, i) => appender(store, `concurrent-${i}`));
    const together = (): Promise<number> =>
      timed(() => Promise.all(sessions.map((session) => repeat(STRETCH, session))));
    await together();
    const rounds: number[] = [];
    for (let i = 0; i < 10; i++) rounds.push((await together()) / (SESSIONS * STRETCH));
    const shared = median(rounds);
    yield atLeast(
      section,
      `${SESSIONS} sessions at once / one session, appends per second`,
      own / shared,
      5,
      `${Math.round(1000 / shared)}/s against ${Math.round(1000 / own)}/s`,
    );
    yield info(section, 'appends per second, one session', 1000 / own);
  } finally {
    await store.close();
    await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await client.end();
  }
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < times; n++) await work();
}

/** Inserts the next message as a row, by a prepared statement. */
async function plainInsert(client: pg.Client): Promise<() => Promise<unknown>> {
  await client.query(`CREATE TABLE ${SCHEMA}.plain (key bigint NOT NULL, seq integer NOT NULL, append_id text, at text NOT NULL,
    type text NOT NULL, data text NOT NULL, PRIMARY KEY (key, seq))`);
  const text = `INSERT INTO ${SCHEMA}.plain (key, seq, append_id, at, type, data) VALUES ($1, $2, $3, $4, $5, $6)`;
  let n = 0;
  return () => {
    const { at, type, ...payload } = message(++n);
    return client.query({ name: 'plain', text, values: [1, n, `append-${n}`, at, type, JSON.stringify(payload)] });
  };
}

/** Appends the next message to a session. */
function appender(store: PostgresStore, sessionId: string): () => Promise<unknown> {
  let n = 0;
  return () => store.append(sessionId, [message(n)], { id: `append-${n}`, expectedSeq: n++ });
}
