import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** The measurements of another process since the previous request. */
export interface Waits {
  /** Milliseconds of its slowest append. */
  readonly longest: number;
  readonly appends: number;
}

/** A process that appends all the time to another session of the same database. */
export interface OtherProcess {
  waits(): Promise<Waits>;
  end(): Promise<void>;
}

export async function startOtherProcess(path: string): Promise<OtherProcess> {
  const child = fork(join(import.meta.dirname, 'appender.ts'), [path]);
  await once(child, 'message');
  return {
    async waits() {
      child.send('report');
      const [waits] = await once(child, 'message');
      return waits as Waits;
    },
    async end() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
