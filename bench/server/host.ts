/** `host.ts <database>`: serves a database in a process of its own until its parent disconnects. */
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';

const store = await sqliteStore(process.argv[2] ?? '');
const server = createServer({ store });
const { url } = await server.listen();
process.once('disconnect', async () => {
  await server.close();
  await store.close();
});
process.send?.(url);
