/**
 * A process that holds the write lock of a database: `lock-holder.ts <database> <milliseconds>`. It prints a line when it has the
 * lock, and releases it after the time.
 */
import { setTimeout } from 'node:timers/promises';
import { Database } from '../../src/stores/sqlite/driver.ts';

const [path = '', ms = ''] = process.argv.slice(2);
const database = new Database(path, { timeoutMs: 5000 });
database.exec('BEGIN IMMEDIATE');
process.stdout.write('locked\n');
await setTimeout(Number(ms));
database.exec('ROLLBACK');
database.close();
