import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
const MIN_FREE_BYTES = 2 ** 30;

/**
 * Where tests with thousands of small databases put them: in memory if the machine offers it. SIGKILL ends a process, not the machine, so these
 * tests need no disk; `test/stores/sqlite-durability.test.ts` checks what is synced.
 */
export function scratchRoot(): string {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
