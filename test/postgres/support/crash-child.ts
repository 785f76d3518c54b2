/** One process of the crash matrix on PostgreSQL: `crash-child.ts <scenario> <directory> <crashAt> <url>`. */
import { postgresStore } from '../../../src/postgres.ts';
import { driveScenario } from '../../crash/drive.ts';
import { SECRETS } from '../../crash/scenario-parts.ts';
import { CRASH_SCHEMA, storeOf, tablesWith } from './crash-sessions.ts';

const url = process.argv[5] ?? '';

void driveScenario(async (dir) => {
  const store = await postgresStore(url, { schema: CRASH_SCHEMA, maxConnections: 3, backgroundIndexing: false });
  return { store: storeOf(dir, store), leaks: () => tablesWith(url, dir, SECRETS) };
});
