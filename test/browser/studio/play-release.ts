/** A session with everything that the views of the record show: its agent was killed in the middle of two calls and resumed by another process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = join(import.meta.dirname, 'release-child.ts');

/** Makes the session `release` in a database that no other process has open. */
export async function playRelease(database: string): Promise<void> {
  await runOnce(database, 'SIGKILL');
  await runOnce(database);
}

/** Runs the agent, to its end or until it has two calls open and is killed. */
async function runOnce(database: string, signal?: 'SIGKILL'): Promise<void> {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, database], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout }))
    if (line === 'parallel' && signal) child.kill(signal);
  const [code, by] = await ended;
  if (by !== (signal ?? null) || (signal === undefined && code !== 0))
    throw new Error(`the agent ended with ${code ?? by}`);
}
