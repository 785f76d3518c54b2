import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';

/** When to kill: after a number of changes of the database's files, or after a time; whichever comes first. */
export interface Moment {
  readonly changes?: number;
  readonly ms?: number;
}

/** The observed changes of an opening until it ended or was killed. */
export interface Opening {
  readonly opened: boolean;
  readonly changes: number;
  readonly ms: number;
}

/**
 * Starts a process that opens a database and kills it at a moment, at the latest when the store is open. A loop that blocks this
 * process watches the files: the event loop would see a change only after the opening.
 */
export async function killOpening(script: string, database: string, moment: Moment): Promise<Opening> {
  const marker = `${database}.opened`;
  rmSync(marker, { force: true });
  const child = spawn(process.execPath, [script, database, marker], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  if (child.exitCode !== null) throw new Error(`the opener ended: ${errors}`);

  const { changes: maxChanges = Number.POSITIVE_INFINITY, ms: maxMs = Number.POSITIVE_INFINITY } = moment;
  let seen = stateOf(database);
  let changes = 0;
  child.stdin.write('go');
  const start = performance.now();
  let ms = 0;
  while (changes < maxChanges && ms < maxMs && ms < GIVE_UP_MS && !existsSync(marker)) {
    const now = stateOf(database);
    if (now !== seen) changes++;
    seen = now;
    ms = performance.now() - start;
  }
  child.kill('SIGKILL');
  const [code] = await closed;
  if (code !== null) throw new Error(`the opener was not killed but ended with ${code}: ${errors}`);
  if (ms >= GIVE_UP_MS) throw new Error(`the opener did not open ${database}: ${errors}`);
  const outcome = existsSync(marker) ? readFileSync(marker, 'utf8') : undefined;
  if (outcome !== undefined && outcome !== 'open') throw new Error(`the opener could not open ${database}: ${outcome}`);
  return { opened: outcome !== undefined, changes, ms };
}

const GIVE_UP_MS = 60_000;

/** Size and time of the database and of the files beside it. */
function stateOf(database: string): string {
  return ['', '-wal', '-shm']
    .map((suffix) => {
      const stat = statSync(`${database}${suffix}`, { bigint: true, throwIfNoEntry: false });
      return stat ? `${stat.size} ${stat.mtimeNs}` : 'none';
    })
    .join(', ');
}
