/**
 * The part of the renewal thread that is the same for every store. It is text, so that no bundler has to find a file; it is plain
 * JavaScript that Node runs as it is. A store puts its own part before it, which defines two functions: `renew(lease)` returns the new
 * term, 'lost', or undefined when the lease could not be renewed, or a promise of one of them; `close()` closes the connection.
 *
 * Messages to the thread: `{ keep: lease }`, `{ stop: id }` and `{ close: true }`. Messages from it: `{ lost: id }`. It writes the end of
 * a renewed lease into the memory that the lease shares with the main thread, which may be blocked.
 */
export const RENEWAL_LOOP: string = `
const { parentPort, workerData: { cells } } = process.getBuiltinModule('node:worker_threads');
const leases = new Map();

function monotonic() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function isHung({ shared, maxBlockedMs }) {
  return monotonic() - Number(Atomics.load(shared, cells.checkedIn)) > maxBlockedMs;
}

function schedule(lease, ms) {
  lease.timer = setTimeout(attempt, ms, lease);
}

async function attempt(lease) {
  if (isHung(lease)) return schedule(lease, lease.ttlMs / 3);
  const term = await renew(lease);
  if (leases.get(lease.id) !== lease) return;
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
