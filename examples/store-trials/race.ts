/** Four processes append to one session and compete for leases, and one of them is killed: `node race.ts`. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldfastError, type SessionEvent } from 'holdfast';
import { libsqlStore as openMyStore } from '../libsql-store/libsql-store.ts';

const WRITERS = 4;
const APPENDS = 50;
type Report =
  | 'ready'
  | { readonly seq: number; readonly text: string }
  | { readonly fence: number; readonly leased: string };

const [path, name] = process.argv.slice(2);
if (path === undefined || name === undefined) await race();
else await write(path, name);

async function write(path: string, name: string): Promise<void> {
  const report = (what: Report) => process.send?.(what);
  const store = await openMyStore(path);
  report('ready');
  await once(process, 'message'); // all writers start together
  for (let i = 0; i < APPENDS; i++) {
    const leased = `leased ${i}`;
    const holder = { id: name, host: 'race', pid: process.pid, startedAt: '0' };
    const attempt = await store.acquireLease(leased, { holder, ttlMs: 600_000 });
    if (attempt.acquired) report({ fence: attempt.lease.fence, leased });
    const text = `${name} ${i}`;
    for (let seq: number | undefined; seq === undefined; ) {
      const { seq: expectedSeq } = await store.head('s');
      const event = { type: 'note/added', at: new Date().toISOString(), text };
      const appended = await store.append('s', [event], { id: text, expectedSeq }).catch((error: unknown) => {
        if (error instanceof HoldfastError && error.code === 'SESSION_CONFLICT') return undefined; // another was first
        throw error;
      });
      seq = appended?.seq;
      if (seq !== undefined) report({ seq, text });
    }
  }
  await store.close();
  process.disconnect?.();
}

async function race(): Promise<void> {
  const path = join(mkdtempSync(join(tmpdir(), 'race-')), 'store');
  const acknowledged: { readonly seq: number; readonly text: string }[] = [];
  const leases: { readonly fence: number; readonly leased: string }[] = [];
  const writers = Array.from({ length: WRITERS }, (_, n) => fork(import.meta.filename, [path, `writer ${n}`]));
  const start = (): void => writers.forEach((writer) => void writer.send('start'));
  let ready = 0;
  const follow = async (writer: ChildProcess, isKilled: boolean): Promise<void> => {
    let appends = 0;
    writer.on('message', (report: Report) => {
      if (report === 'ready') return ++ready === WRITERS ? start() : undefined;
      if ('leased' in report) return leases.push(report);
      acknowledged.push(report);
      if (isKilled && ++appends === APPENDS / 2) writer.kill('SIGKILL');
    });
    const [[code]] = await Promise.all([once(writer, 'exit'), once(writer, 'disconnect')]);
    if (code !== 0 && !isKilled) throw new Error(`a writer ended with ${code}`);
  };
  const following = writers.map((writer, n) => follow(writer, n === 0));
  await Promise.all(following).finally(() => writers.forEach((writer) => void writer.kill('SIGKILL')));

  const store = await openMyStore(path);
  const events: SessionEvent[] = [];
  for await (const event of store.read('s')) events.push(event);
  const { ok, problems } = await store.check();
  await store.close();
  const textAt = new Map(events.map((event) => [event.seq, 'text' in event ? event.text : undefined]));
  const lost = acknowledged.filter(({ seq, text }) => textAt.get(seq) !== text);
  const texts = new Set(textAt.values()).size;
  console.log(`${acknowledged.length} acknowledged, ${events.length} there; ${leases.length} leases`);
  if (!ok) throw new Error(`damage: ${problems.join('; ')}`);
  if (lost.length > 0)
    throw new Error(`${lost.length} acknowledged events are lost or moved: ${JSON.stringify(lost[0])}`);
  if (texts !== events.length) throw new Error(`${events.length - texts} events are there twice`);
  if (new Set(leases.map(({ leased }) => leased)).size !== leases.length)
    throw new Error('two processes got one lease');
  if (new Set(leases.map(({ fence }) => fence)).size !== leases.length) throw new Error('two leases got one fence');
  console.log('nothing was lost');
}
