import { HoldfastError } from '../../../core/errors.ts';
import type { Database } from '../driver.ts';
import { log } from '../migrations/0001-log.ts';
import { draftKinds } from '../migrations/0002-draft-kinds.ts';
import { incarnations } from '../migrations/0003-incarnations.ts';
import { recentEvents } from '../migrations/0004-recent-events.ts';
import { summaryVersions } from '../migrations/0005-summary-versions.ts';
import { layout } from './layout.ts';

/** Every layout there was, in order; a database says in `user_version` how many of them it has had. */
export const MIGRATIONS: readonly string[] = [log, draftKinds, incarnations, recentEvents, summaryVersions];

/** The layout this version of Holdfast reads and writes. */
export const LAYOUT_VERSION: number = MIGRATIONS.length;

/** "Hold": marks a file as ours, so that the database of another program is never written to. */
const APPLICATION_ID = 0x486f6c64;

/**
 * Says what a file is, without changing a byte of it. Throws when it is another program's database or one that a newer
 * Holdfast has written.
 */
export function identify(database: Database, path: string): 'new' | 'outdated' | 'current' {
  // Another process may create it between two of these: the mark comes last, so that what was seen before is marked by then.
  const tables = database.prepareValue<[], number>('SELECT count(*) FROM sqlite_schema').get();
  const version = Number(database.pragma('user_version'));
  const application = database.pragma('application_id');
  if (application === 0 && version === 0 && tables === 0) return 'new';
  if (application !== APPLICATION_ID) {
    throw new HoldfastError('STORE_UNSUPPORTED', `${path} is the database of another program; choose another path`);
  }
  if (version > LAYOUT_VERSION) {
    throw new HoldfastError(
      'STORE_TOO_NEW',
      `${path} has layout ${version} and this Holdfast knows ${LAYOUT_VERSION}; update Holdfast to open it`,
    );
  }
  return version < LAYOUT_VERSION ? 'outdated' : 'current';
}

/** Brings a database to the present layout, in one transaction; a second process finds the work done. A new one is created with it. */
export function migrate(database: Database, path: string): void {
  database.transaction('IMMEDIATE', () => {
    const state = identify(database, path);
    if (state === 'current') return;
    const version = Number(database.pragma('user_version'));
    for (const sql of state === 'new' ? [layout] : MIGRATIONS.slice(version)) database.exec(sql);
    database.pragma(`application_id = ${APPLICATION_ID}`);
    database.pragma(`user_version = ${LAYOUT_VERSION}`);
  });
}
