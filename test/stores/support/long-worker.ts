/**
 * A process that deletes or forks the session `long` and kills itself after its n-th commit: `long-worker.ts <database>
 * <delete|fork> <n>`. Its clock stands still, so that the amount of work ends a transaction and not its duration.
 */
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { traceCommits } from './traced-commits.ts';

const [path = '', work = '', last = '1'] = process.argv.slice(2);
performance.now = () => 0;
let commits = Number.NEGATIVE_INFINITY;
traceCommits({
  after: () => {
    if (++commits === Number(last)) process.kill(process.pid, 'SIGKILL');
  },
});
const store = await sqliteStore(path, { backgroundIndexing: false });
const { seq } = await store.head('long');
commits = 0;
if (work === 'delete') await store.deleteSession('long');
else {
  const end = { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text: 'end' };
  await store.forkSession('long', 'fork', { at: seq, events: [end] });
}
process.stdout.write(`done after ${commits} commits`);
await store.close();
