/** `agent-child.ts <database> <seed>`: runs or resumes the agent in a process that is killed at any instant. */
import { setTimeout } from 'node:timers/promises';
import { openSession } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/sqlite.ts';
import { systemClock } from '../../../src/stores/system-clock.ts';
import { randomFrom } from '../../support/random.ts';
import { runAgent } from './agent.ts';

const [database = '', seed = '1'] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const store = await sqliteStore(database);
/** Drafts are written twenty times as often, so that readers are disconnected within them. */
const clock = {
  ...systemClock,
  after: (ms, callback, options) => systemClock.after(ms / 20, callback, options),
} satisfies typeof systemClock;
const session = await openSession({ store, id: 'session', clock });
process.stdout.write('begun\n');
const { status } = await runAgent(session, () => setTimeout(random() * 12), 120);
await session.close();
await store.close();
process.stdout.write(`${status}\n`);
