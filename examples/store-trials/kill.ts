/** Kills a process at every point of a few appends, and looks at what is left: `node kill.ts`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crashPoints, storeWithCrashPoints } from 'holdfast/testing';
import { libsqlStore as openMyStore } from '../libsql-store/libsql-store.ts';

const [path, crashAt] = process.argv.slice(2);
if (path === undefined) await killAtEveryPoint();
else await write(path, Number(crashAt));

function note(text: string) {
  return { type: 'note/added', at: new Date().toISOString(), text };
}

async function write(path: string, crashAt: number): Promise<void> {
  const points = crashPoints({ crashAt });
  const store = storeWithCrashPoints(await openMyStore(path, { pass: points.pass }), points);
  for (let seq = 0; seq < 3; seq++) {
    await store.append('s', [note(`note ${seq}`)], { id: `append ${seq}`, expectedSeq: seq });
    process.stdout.write('.'); // acknowledged
  }
  await store.close();
}

async function killAtEveryPoint(): Promise<void> {
  for (let crashAt = 1; ; crashAt++) {
    const path = join(mkdtempSync(join(tmpdir(), 'kill-')), 'store');
    const args = ['--no-warnings', ...process.execArgv, import.meta.filename, path, String(crashAt)];
    const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (child.signal === null && child.status !== 0) throw new Error(child.stderr);
    const store = await openMyStore(path);
    const { ok, problems, events } = await store.check();
    console.log(`killed at point ${crashAt}: ${child.stdout.length} acknowledged, ${events} there`);
    if (!ok || events < child.stdout.length) throw new Error(`lost events, or damage: ${problems.join('; ')}`);
    await store.append('s', [note('afterwards')], { id: 'afterwards', expectedSeq: events });
    await store.close();
    if (child.signal === null) break;
  }
  console.log('no point left');
}
