/** A worker that is killed: evaluates the work with the real OpenCode. */
import { openCodeAdapter } from '../../../src/opencode.ts';
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { openCodeOptions } from './opencode.ts';
import { workPrompt } from './work.ts';

const [text] = process.argv.slice(2);
const { db, directory, url, home, cwd, input } = JSON.parse(text ?? '{}');
const store = await sqliteStore(db);
const session = await openSession({ store, id: 'work' });
await openCodeAdapter(openCodeOptions({ url, home, cwd })).evaluate(workPrompt(directory), { session, input });
await store.close();
