/** A process that cancels an evaluation of a session in a database, and prints when its request is durable. */
import { writeSync } from 'node:fs';
import type { CancelOptions } from '../../src/core/views/session-decisions.ts';
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';

const [database = '', id = '', options = '{}'] = process.argv.slice(2);
const store = await sqliteStore(database);
await (await openSession({ store, id })).cancel(JSON.parse(options) as CancelOptions);
writeSync(1, 'requested\n');
await store.close();
