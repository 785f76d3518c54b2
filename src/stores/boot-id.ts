import { lateModule } from './late-module.ts';

/** The time namespace of every process without one of its own (`PROC_TIME_INIT_INO` in the kernel). */
const HOST_TIME = 'time:[4026531834]';

let known: { readonly id: string | undefined } | undefined;

/**
 * Identifies the boot of the system that this process runs on: within it all processes share the monotonic clock, and no process
 * id belongs to two processes at a time. Undefined if the system does not provide it.
 */
export function bootId(): string | undefined {
  known ??= { id: process.platform === 'darwin' ? bootOfDarwin() : bootOfLinux() };
  return known.id;
}

function bootOfLinux(): string | undefined {
  try {
    const id = lateModule('node:fs').readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const time = timeNamespace();
    if (id === '') return undefined;
    // A container may have a monotonic clock with its own offset: deadlines of other containers are not comparable.
    return time === undefined || time === HOST_TIME ? id : `${id} ${time}`;
  } catch {
    return undefined;
  }
}

function timeNamespace(): string | undefined {
  try {
    return lateModule('node:fs').readlinkSync('/proc/self/ns/time');
  } catch {
    return undefined; // a kernel without these files
  }
}

function bootOfDarwin(): string | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const { execFileSync } = lateModule('node:child_process');
    const id = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', stdio }).trim();
    return id === '' ? undefined : id;
  } catch {
    return undefined;
  }
}
