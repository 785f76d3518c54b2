import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LeaseHolder } from '../ports/store.ts';

/** Who this process is, and whether another one still lives: what a lease needs to outlive its holder's death (D51). */

let counter = 0;

/** This process as the holder of a lease; every call names another holder. */
export function thisProcess(): LeaseHolder {
  const started = startTime(process.pid) ?? 'unknown';
  return { id: `${process.pid}-${started}-${++counter}`, host: hostname(), pid: process.pid, startedAt: started };
}

/** True only when it is certain: the same host, and no process with that pid and start time. */
export function isDead(holder: LeaseHolder): boolean {
  if (holder.host !== hostname()) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const started = startTime(holder.pid);
  return started !== undefined && holder.startedAt !== 'unknown' && started !== holder.startedAt;
}

/** When a process started, in the host's own ticks, where the host tells (Linux). A zombie has already ended. */
export function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : fields[19];
  } catch {
    return undefined;
  }
}
