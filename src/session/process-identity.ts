import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LeaseHolder } from '../ports/store.ts';

/** Who this process is, and whether another one still lives: what a lease needs to outlive its holder's death (D51). */

let counter = 0;
let ownStart: string | undefined;

/** This process as the holder of a lease; every call names another holder. */
export function thisProcess(): LeaseHolder {
  ownStart ??= startTime(process.pid) ?? 'unknown';
  return { id: `${process.pid}-${ownStart}-${++counter}`, host: hostname(), pid: process.pid, startedAt: ownStart };
}

/** True only when it is certain: the same host, and no process with that pid and start time. */
export function isDead(holder: LeaseHolder): boolean {
  if (holder.host !== hostname()) return false;
  const started = startTime(holder.pid);
  if (started !== undefined && holder.startedAt !== 'unknown') return started !== holder.startedAt;
  return !isThere(holder.pid);
}

/** Whether there is a process, or a process group if negative, with that number: anyone's. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Where Linux tells of its processes. */
export const PROC = '/proc';

/** When a process started, in the host's own words; undefined if there is none, or the host does not tell. A zombie has ended. */
export function startTime(pid: number): string | undefined {
  return existsSync(`${PROC}/self/stat`) ? startTimeInProc(pid) : startTimeByPs(pid);
}

function startTimeInProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`${PROC}/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : fields[19];
  } catch {
    return undefined;
  }
}

/** The same on a host without `/proc`, such as macOS. */
export function startTimeByPs(pid: number): string | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    const options = { encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } } as const;
    const told = execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
      ...options,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [, stat, started] = /^(\S+)\s+(.+?)\s*$/.exec(told.trim()) ?? [];
    return stat?.startsWith('Z') ? 'ended' : started;
  } catch {
    return undefined; // no such process, or no such program
  }
}
