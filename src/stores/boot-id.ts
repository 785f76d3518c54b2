import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** The time namespace of every process that was given none of its own (`PROC_TIME_INIT_INO` in the kernel). */
const HOST_TIME = 'time:[4026531834]';

let known: { readonly id: string | undefined } | undefined;

/**
 * Names the boot of the system that this process runs on: within it the monotonic clock is one for all processes, and no process
 * id means two processes at a time. Undefined where the system does not say.
 */
export function bootId(): string | undefined {
  known ??= { id: process.platform === 'darwin' ? bootOfDarwin() : bootOfLinux() };
  return known.id;
}

function bootOfLinux(): string | undefined {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const time = timeNamespace();
    if (id === '') return undefined;
    // A container may have a monotonic clock with an offset of its own: no deadline of another one means anything in it.
    return time === undefined || time === HOST_TIME ? id : `${id} ${time}`;
  } catch {
    return undefined;
  }
}

function timeNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return undefined; // a kernel without them
  }
}

function bootOfDarwin(): string | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const id = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', stdio }).trim();
    return id === '' ? undefined : id;
  } catch {
    return undefined;
  }
}
