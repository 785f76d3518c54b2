/** One process of the crash matrix on SQLite: `child.ts <scenario> <directory> <crashAt>`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from '../../src/sqlite.ts';
import { systemClock } from '../../src/stores/system-clock.ts';
import { driveScenario } from './drive.ts';
import { SECRETS } from './scenario-parts.ts';

/** The thread that renews leases costs a third of a process. No lease of the matrix expires, so only the scenarios with `once` tools have it. */
const { monotonic: _, ...clockWithoutThread } = systemClock;

void driveScenario(async (dir, { name }) => ({
  store: await sqliteStore(join(dir, 'agent.db'), name.includes('once') ? {} : { clock: clockWithoutThread }),
  leaks: async () =>
    readdirSync(dir).filter(
      (file) => file.startsWith('agent.db') && SECRETS.some((secret) => readFileSync(join(dir, file)).includes(secret)),
    ),
}));
