import { setImmediate } from 'node:timers/promises';
import { openSession } from '../../../src/index.ts';
import type { Life } from '../../loop/mortal.ts';
import { runAgent } from './agent.ts';

/** Runs or resumes the agent in one life of its process. */
export async function oneLife(life: Life, random: () => number): Promise<string> {
  const session = await openSession({ store: life.store, id: 'session', clock: life.clock });
  const { status } = await runAgent(session, async () => {
    await life.pass();
    for (let turns = random() * 3; turns > 1; turns--) await setImmediate();
  });
  await session.close();
  return status;
}
