/** A worker that is killed: runs the remaining work of the session with a real agent. */
import { claudeAgentAdapter } from '../../../src/claude-agent.ts';
import { openCodeAdapter } from '../../../src/opencode.ts';
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { claudeOptions } from './claude.ts';
import { openCodeOptions } from './opencode.ts';
import { workPrompt } from './work.ts';

const [text] = process.argv.slice(2);
const { agent, db, directory, url, home, cwd } = JSON.parse(text ?? '{}');
const store = await sqliteStore(db);
const session = await openSession({ store, id: 'work' });
const where = { url, home, cwd };
const adapter = agent === 'claude' ? claudeAgentAdapter(claudeOptions(where)) : openCodeAdapter(openCodeOptions(where));
await adapter.run(workPrompt(directory), { session });
await store.close();
