/** One process of the crash matrix on SQLite: `child.ts <scenario> <directory> <crashAt>`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from '../../src/sqlite.ts';
import { driveScenario } from './drive.ts';
import { SECRETS } from './scenario-parts.ts';

void driveScenario(async (dir) => ({
  store: await sqliteStore(join(dir, 'agent.db')),
  leaks: async () =>
    readdirSync(dir).filter(
      (file) => file.startsWith('agent.db') && SECRETS.some((secret) => readFileSync(join(dir, file)).includes(secret)),
    ),
}));
