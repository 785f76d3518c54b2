/** A process that backs a database up: `backer.ts <database> <target>`. */
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';

const [path = '', target = ''] = process.argv.slice(2);
const store = await sqliteStore(path);
await store.backup(target);
await store.close();
