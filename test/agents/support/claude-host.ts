/** A worker that is killed: evaluates the work with the real SDK, and prints the outcome if it is not killed before. */
import { claudeAgentAdapter } from '../../../src/claude-agent.ts';
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { claudeOptions } from './claude.ts';
import { workPrompt } from './work.ts';

const [text] = process.argv.slice(2);
const { db, directory, url, home, cwd, input } = JSON.parse(text ?? '{}');
const store = await sqliteStore(db);
const session = await openSession({ store, id: 'work' });
const { status, reason } = await claudeAgentAdapter(claudeOptions({ url, home, cwd })).evaluate(workPrompt(directory), {
  session,
  input,
});
console.log(JSON.stringify({ status, reason }));
await store.close();
