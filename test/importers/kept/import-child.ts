/** A process that imports a folder into a SQLite store. A test kills it a moment after it has committed so many transactions: the moment is given. */
import { sqliteStore } from '../../../src/sqlite.ts';
import { importTranscripts } from '../../../src/transcripts.ts';

const [database = '', root = '', stopAfter = '', moment = '0'] = process.argv.slice(2);
const store = await sqliteStore(database, { backgroundIndexing: false });

/** Waits to be killed, without running anything else. */
function stop(): void {
  console.log('stopped');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

let reports = 0;
await importTranscripts(store, {
  paths: [root],
  onProgress: () => {
    if (++reports === Number(stopAfter)) setTimeout(stop, Number(moment));
  },
});
if (stopAfter !== '') stop(); // it was faster than the timer
await store.close();
