/**
 * A process that opens a database: `opener.ts <database> <marker>`. It waits for a byte on its input, so that its start is not part of
 * the opening, and writes the marker when the store is open, or the error when it cannot be opened. Its parent kills it.
 */
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { sqliteStore } from '../../../../src/sqlite.ts';

const [database = '', marker = ''] = process.argv.slice(2);
process.stdout.write('ready');
await once(process.stdin, 'data');
const outcome = await sqliteStore(database).then(() => 'open', String);
// Renamed, so that the parent never reads half of it.
writeFileSync(`${marker}.part`, outcome);
renameSync(`${marker}.part`, marker);
