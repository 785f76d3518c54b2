/**
 * What the renewal thread runs. It is text, so that no bundler has to find a file; it is plain JavaScript that Node runs as it is.
 *
 * Messages to it: `{ keep: lease }`, `{ stop: id }` and `{ close: true }`. Messages from it: `{ lost: id }`. What it has renewed it
 * writes into the memory that the lease shares with the main thread, which may be blocked.
 */
export const RENEWAL_SOURCE: string = `
'use strict';
const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
const { location, module, layout, renewSql, cells } = workerData;
process.emitWarning = () => {}; // Node 22 warns that SQLite is experimental
const { DatabaseSync } = process.getBuiltinModule(module);

const leases = new Map();
let database;

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

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

function isHung({ shared, maxBlockedMs }) {
  return monotonic() - Number(Atomics.load(shared, cells.checkedIn)) > maxBlockedMs;
}

function schedule(lease, ms) {
  lease.timer = setTimeout(attempt, ms, lease);
}

function attempt(lease) {
  if (isHung(lease)) return schedule(lease, lease.ttlMs / 3);
  const term = renew(lease);
  if (term === undefined) return schedule(lease, Math.min(lease.ttlMs / 10, 1000));
  if (term === 'lost') {
    leases.delete(lease.id);
    parentPort.postMessage({ lost: lease.id });
    return;
  }
  Atomics.store(lease.shared, cells.expiresAt, BigInt(Math.floor(term.expiresAt)));
  Atomics.store(lease.shared, cells.deadline, BigInt(Math.floor(term.deadline)));
  schedule(lease, lease.ttlMs / 3);
}

function stop(id) {
  clearTimeout(leases.get(id)?.timer);
  leases.delete(id);
}

parentPort.on('message', ({ keep, stop: stopped, close: closing }) => {
  if (keep) {
    leases.set(keep.id, keep);
    schedule(keep, keep.ttlMs / 3);
  }
  if (stopped !== undefined) stop(stopped);
  if (!closing) return;
  for (const id of [...leases.keys()]) stop(id);
  close();
  parentPort.close();
});
`;
