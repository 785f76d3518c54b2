import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors.ts';
import type { LeaseHolder } from '../../ports/store.ts';
import { isDead, thisProcess } from '../../session/process-identity.ts';
import { lateModule } from '../../stores/late-module.ts';

/**
 * Exclusion between processes that share a directory and nothing else. A process announces itself with a file of its own, then
 * looks for others: of two that announce at the same time at least one sees the other, so both never hold the lock. A file whose
 * process is dead is removed; names are never used twice, so no process removes the file of a living one.
 *
 *     announced ── no other ──▶ held ── release ──▶ (gone)
 *         └──── another holds it ──▶ SESSION_BUSY;  another is announced, too ──▶ withdraw, wait, announce again
 */
export interface HeldLock {
  /** Throws when another machine took the lock over because this one went silent. */
  check(): Promise<void>;
  release(): Promise<void>;
}

const HEARTBEAT_MS = 10_000;
/** A holder on another machine that was silent for so long is taken for dead. One on this machine is looked up instead. */
const SILENT_MS = 60_000;
const MAX_TRIES = 50;
const MAX_WAIT_MS = 20;

/** Takes the lock, or throws `SESSION_BUSY` naming its holder. `what` names what is locked. */
export async function holdLock(dir: string, what: string): Promise<HeldLock> {
  const holder = thisProcess();
  for (let tries = 1; ; tries++) {
    const own = join(dir, lateModule('node:crypto').randomBytes(12).toString('hex'));
    const announced = await announce(dir, own, holder, tries);
    const other = announced ? await findOther(dir, own) : undefined;
    if (announced && !other) return held(dir, own, what);
    if (announced) await remove(dir, own);
    if (other?.holds || tries >= MAX_TRIES) throw busy(what, other?.holder, dir);
    await wait(Math.random() * MAX_WAIT_MS);
  }
}

/** False when the directory was removed meanwhile, by a holder that released the lock. */
async function announce(dir: string, own: string, holder: LeaseHolder, tries: number): Promise<boolean> {
  try {
    await mkdir(dir, { recursive: true }); // is ENOENT, too, when another process removes the directory at the same time
    await writeFile(`${own}.tmp`, JSON.stringify(holder), { mode: 0o600 });
    await rename(`${own}.tmp`, `${own}.json`);
    return true;
  } catch (error) {
    if (isMissing(error) && tries < MAX_TRIES) return false;
    throw error;
  }
}

interface Other {
  readonly holder: LeaseHolder | undefined;
  readonly holds: boolean;
}

/** Another living process that is announced, one that holds the lock first. */
async function findOther(dir: string, own: string): Promise<Other | undefined> {
  const names = await readdir(dir);
  const now = (await stat(`${own}.json`)).mtimeMs; // by the clock of the file system, as the others' times are
  let found: Other | undefined;
  for (const name of names.filter((one) => one.endsWith('.json'))) {
    const path = join(dir, name.slice(0, -'.json'.length));
    if (path === own) continue;
    const seen = await look(path, now);
    if (seen === 'gone') continue;
    if (seen === 'dead') await removeFiles(path);
    else if (!found?.holds) found = { holder: seen, holds: names.includes(`${name.slice(0, -'.json'.length)}.held`) };
  }
  return found;
}

async function look(path: string, now: number): Promise<LeaseHolder | 'dead' | 'gone'> {
  try {
    const holder = JSON.parse(await readFile(`${path}.json`, 'utf8')) as LeaseHolder;
    const silentMs = now - (await stat(`${path}.json`)).mtimeMs;
    if (isDead(holder) || (holder.host !== hostname() && silentMs > SILENT_MS)) return 'dead';
    return holder;
  } catch (error) {
    if (isMissing(error)) return 'gone';
    throw error;
  }
}

async function held(dir: string, own: string, what: string): Promise<HeldLock> {
  await writeFile(`${own}.held`, '');
  const beat = setInterval(() => {
    const now = new Date();
    utimes(`${own}.json`, now, now).catch(() => {}); // `check` throws when it is gone
  }, HEARTBEAT_MS);
  beat.unref();
  return {
    async check() {
      const isOwn = await stat(`${own}.json`).then(
        () => true,
        (error: unknown) => !isMissing(error),
      );
      if (isOwn) return;
      throw new HoldfastError('SESSION_CONFLICT', `${what} was taken over by another process; stop here`, {
        detail: 'fence',
      });
    },
    async release() {
      clearInterval(beat);
      await remove(dir, own);
    },
  };
}

async function remove(dir: string, own: string): Promise<void> {
  await removeFiles(own);
  await rmdir(dir).catch(() => {}); // another process is announced there
}

async function removeFiles(path: string): Promise<void> {
  // The announcement goes last: without it the rest means nothing.
  for (const end of ['tmp', 'held', 'json']) await rm(`${path}.${end}`, { force: true });
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function busy(what: string, holder: LeaseHolder | undefined, dir: string): HoldfastError {
  const by = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
  return new HoldfastError(
    'SESSION_BUSY',
    `${what} is being run by ${by}; wait for it to finish (if that process is gone for certain, remove ${dir})`,
    { data: holder },
  );
}
