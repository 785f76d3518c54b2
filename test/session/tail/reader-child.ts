/**
 * `reader-child.ts <database> <seed>`: readers in their own process. A line on its input makes them stop, read the rest and compare;
 * it writes the differences as a line of JSON, and the readers continue.
 */
import { createInterface } from 'node:readline';
import { sqliteStore } from '../../../src/sqlite.ts';
import { randomFrom } from '../../support/random.ts';
import { RestlessReader } from './restless-reader.ts';

const [database = '', seed = '1'] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const store = await sqliteStore(database);
const readers = [false, false, true].map((forgets) => new RestlessReader({ store, id: 'session', random, forgets }));
for (const reader of readers) reader.start();
process.stdout.write('"begun"\n');
for await (const _ of createInterface(process.stdin)) {
  const wrong = (await Promise.all(readers.map((reader) => reader.stop()))).flat();
  const cuts = readers.reduce((sum, reader) => sum + reader.cuts, 0);
  const counts = readers.map(({ strict }) => strict?.counts);
  process.stdout.write(`${JSON.stringify({ wrong, cuts, counts })}\n`);
  for (const reader of readers) reader.start();
}
for (const reader of readers) await reader.stop();
await store.close();
