/**
 * A worker that is killed while the SDK copies a session for a resume: it resumes, prints `copied`, and then waits for ever at the
 * store's first request after the SDK has copied the credentials.
 */
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claudeAgentAdapter } from '../../../src/claude-agent.ts';
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { claudeOptions } from './claude.ts';
import { workPrompt } from './work.ts';

const [text] = process.argv.slice(2);
const { db, directory, url, home, cwd } = JSON.parse(text ?? '{}');
const store = await sqliteStore(db);
const { listSessions } = store;
store.listSessions = async (options) => {
  const copies = readdirSync(tmpdir()).filter((name) => name.startsWith('claude-resume-'));
  if (!copies.some((name) => existsSync(join(tmpdir(), name, '.credentials.json')))) {
    return listSessions.call(store, options);
  }
  console.log('copied');
  return new Promise<never>(() => {});
};
const session = await openSession({ store, id: 'work' });
await claudeAgentAdapter(claudeOptions({ url, home, cwd })).evaluate(workPrompt(directory), { session, resume: true });
