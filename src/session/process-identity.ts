import type { LeaseHolder } from '../ports/store.ts';
import { bootId } from '../stores/boot-id.ts';
import { lateModule } from '../stores/late-module.ts';

/** The identity of this process, and whether another process is alive: leases of dead processes are taken over (D76). */

/** Where Linux lists its processes. */
export const PROC = '/proc';

/** macOS has no namespaces of process ids: all processes of a boot share them, and each sees all others. */
const ONE_NAMESPACE = 'none';

let counter = 0;
let own: Omit<LeaseHolder, 'id'> | undefined;

/** This process as the holder of a lease; every call names another holder. */
export function thisProcess(): LeaseHolder {
  own ??= identity();
  return { id: `${own.pid}-${own.startedAt}-${++counter}`, ...own };
}

function identity(): Omit<LeaseHolder, 'id'> {
  const { pid } = process;
  const boot = bootId();
  const pidNamespace = ownPidNamespace();
  return {
    host: lateModule('node:os').hostname(),
    pid,
    startedAt: startTime(pid) ?? 'unknown',
    ...(boot !== undefined && { bootId: boot }),
    ...(pidNamespace !== undefined && { pidNamespace }),
  };
}

function ownPidNamespace(): string | undefined {
  if (process.platform === 'darwin') return ONE_NAMESPACE;
  try {
    const { readlinkSync } = lateModule('node:fs');
    // A container that sees the /proc of its host would look up its own process ids among those of the host.
    if (readlinkSync(`${PROC}/self`) !== String(process.pid)) return undefined;
    return readlinkSync(`${PROC}/self/ns/pid`);
  } catch {
    return undefined;
  }
}

/**
 * True only when it is certain: a process of the same boot and pid namespace whose pid is free or belongs to a process that
 * started at another time. Returns false when anything about either process is unknown: two containers of one host name both
 * have a process 1, and a pid that is free in one may be running in the other (D76).
 */
export function isDead(holder: LeaseHolder): boolean {
  const self = thisProcess();
  const isNeighbour =
    holder.bootId !== undefined &&
    holder.pidNamespace !== undefined &&
    holder.bootId === self.bootId &&
    holder.pidNamespace === self.pidNamespace &&
    holder.host === self.host;
  if (!isNeighbour || holder.startedAt === 'unknown') return false;
  const started = startTime(holder.pid);
  return started === undefined ? !isThere(holder.pid) : started !== holder.startedAt;
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

/** When a process started, as text of the host; undefined if there is no such process, or the host does not report it. A zombie has ended. */
export function startTime(pid: number): string | undefined {
  return lateModule('node:fs').existsSync(`${PROC}/self/stat`) ? startTimeInProc(pid) : startTimeByPs(pid);
}

function startTimeInProc(pid: number): string | undefined {
  try {
    const stat = lateModule('node:fs').readFileSync(`${PROC}/${pid}/stat`, 'utf8');
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
    const { execFileSync } = lateModule('node:child_process');
    const printed = execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
      ...options,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [, stat, started] = /^(\S+)\s+(.+?)\s*$/.exec(printed.trim()) ?? [];
    return stat?.startsWith('Z') ? 'ended' : started;
  } catch {
    return undefined; // no such process, or no such program
  }
}
