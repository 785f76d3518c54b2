/** A database from before summaries named what they were folded from opens, is listed as before, and its sessions continue (D6, D82). */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { continueSessions, FIXTURES } from './support/old-databases/continue-sessions.ts';
import { openStore, temporaryDatabase } from './support/temporary.ts';

test('the database layout-4 opens, lists what it did, continues, and forgets what is erased', async () => {
  const path = temporaryDatabase();
  copyFileSync(join(FIXTURES, 'layout-4/store.sqlite'), path);
  const open = () => openStore(path, { backgroundIndexing: false });
  await continueSessions('layout-4', await open(), open);
});
