import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { bootId, HoldfastError } from 'holdfast/store';

const WAIT_MS = 10_000;

/** Who holds a lock. The id distinguishes two locks of one process. */
interface LockHolder {
  readonly id: string;
  readonly host: string;
  readonly boot?: string | undefined;
  readonly pid: number;
}

/**
 * Blocks other processes of this machine, and other handles of this process, until the returned function is called. The lock is a file:
 * its holder creates and removes it. The lock of a dead process is broken. A caller that waits for too long gets `STORE_BUSY`.
 *
 * Its limits: all processes must see each other's pids, which those in two containers do not. If another program has got the pid of a
 * dead holder, the holder looks alive: remove the file by hand.
 */
export async function lockFile(path: string): Promise<() => void> {
  const id = randomUUID();
  const holder: LockHolder = { id, host: hostname(), boot: bootId(), pid: process.pid };
  // Linked, not written in place: a lock is there with its whole text or not at all.
  const own = `${path}.${id}`;
  writeFileSync(own, JSON.stringify(holder));
  try {
    for (const until = performance.now() + WAIT_MS; performance.now() < until; ) {
      if (linkIfFree(own, path)) return () => rmSync(path);
      const held = readIfThere(path);
      if (held !== undefined && isDead(JSON.parse(held))) await breakLock(path, held);
      else await new Promise((resolve) => setTimeout(resolve, 1));
    }
    throw new HoldfastError('STORE_BUSY', `${path} is held by another process; try again: ${readIfThere(path)}`);
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Removes the lock of a dead process. Two processes may find it at once: the second must not remove the lock that the first has
 * acquired since. So breaking has a lock of its own, and the lock is read again under it. Between that and the removal nothing can
 * change it: its holder is dead, and only this process may break it.
 */
async function breakLock(path: string, held: string): Promise<void> {
  const unlock = await lockFile(`${path}.break`);
  try {
    if (readIfThere(path) === held) rmSync(path);
  } finally {
    unlock();
  }
}

/** Only a process of this machine can be known to be dead: another boot of it, or a pid that is free. */
function isDead({ host, boot, pid }: LockHolder): boolean {
  if (host !== hostname()) return false;
  if (boot !== bootId()) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function linkIfFree(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
