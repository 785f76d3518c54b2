import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RenewalPart } from '../../leases/renewal-thread.ts';
import { SQLITE_MODULE } from '../driver.ts';
import { RENEW_LEASE } from '../rows/lease-table.ts';
import { LAYOUT_VERSION } from './migrate.ts';

/** The part of the renewal thread that renews a lease in a SQLite file. */
export function renewalPart(path: string): RenewalPart {
  const location = `${pathToFileURL(resolve(path)).href}?mode=rw`;
  return {
    source: RENEWAL_SOURCE,
    data: { location, module: SQLITE_MODULE, layout: LAYOUT_VERSION, renewSql: RENEW_LEASE },
  };
}

const RENEWAL_SOURCE: string = `
'use strict';
const { location, module, layout, renewSql } = process.getBuiltinModule('node:worker_threads').workerData;
process.emitWarning = () => {}; // Node 22 warns that SQLite is experimental
const { DatabaseSync } = process.getBuiltinModule(module);

let database;

function open() {
  if (database) return database;
  // mode=rw: a file that was removed is not made again.
  const connection = new DatabaseSync(location, { timeout: 100 });
  try {
    // A renewal need not survive a power failure, so that it costs no sync. It never moves the log into the database either.
    connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON');
    database = {
      connection,
      begin: connection.prepare('BEGIN IMMEDIATE'),
      layout: connection.prepare('PRAGMA user_version'),
      renew: connection.prepare(renewSql),
      commit: connection.prepare('COMMIT'),
    };
    return database;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function close() {
  const { connection } = database ?? {};
  database = undefined;
  try {
    connection?.close();
  } catch {}
}

/** The new term, 'lost', or undefined when the lease could not be renewed. */
function renew({ sessionId, fence, ttlMs }) {
  try {
    const { begin, layout: version, renew: update, commit } = open();
    begin.run();
    if (version.get().user_version !== layout) throw new Error('a newer Holdfast has changed the layout');
    const term = { expiresAt: Date.now() + ttlMs, deadline: monotonic() + ttlMs };
    const { changes } = update.run(term.expiresAt, term.deadline, sessionId, fence);
    commit.run();
    return Number(changes) === 0 ? 'lost' : term;
  } catch {
    close(); // which rolls back; the next attempt opens it again
    return undefined;
  }
}
`;
