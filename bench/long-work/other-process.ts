import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What another process measured since it was asked before. */
export interface Waits {
  /** Milliseconds that its slowest append took. */
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
