/**
 * A process that opens a database: `opener.ts <database> <marker>`. It waits for a byte on its input, so that the time before is
 * not part of the opening, and writes the marker when the store is open. Its parent kills it.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { sqliteStore } from '../../../../src/sqlite.ts';

const [database = '', marker = ''] = process.argv.slice(2);
process.stdout.write('ready');
await once(process.stdin, 'data');
await sqliteStore(database);
writeFileSync(marker, '');
