import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { lateModule } from '../../late-module.ts';
import { SQLITE_MODULE } from '../driver.ts';

/**
 * Moves pages from the write-ahead log into the database in a thread with a connection of its own: a checkpoint waits for the disk
 * two or three times, which may take longer than the event loop can be blocked.
 */
export interface CheckpointThread {
  /** Resolves when the checkpoint was made or could not be made. Keeps the process alive until then. */
  checkpoint(): Promise<void>;
  /** Makes a last checkpoint, empties the log unless another connection reads it, and ends the thread. */
  end(): Promise<void>;
}

/** Starts the thread; undefined when the runtime allows none. A thread that dies makes no more checkpoints, and SQLite makes them. */
export function startCheckpointThread(path: string): CheckpointThread | undefined {
  // mode=rw: a file that was removed is not made again.
  const workerData = { location: `${pathToFileURL(resolve(path)).href}?mode=rw`, module: SQLITE_MODULE };
  let worker: Worker;
  try {
    // Nothing of the process's own options: a loader that they name would have to load in the thread, too.
    const threads = lateModule('node:worker_threads');
    worker = new threads.Worker(SOURCE, { eval: true, execArgv: [], env: {}, workerData });
  } catch {
    return undefined;
  }
  const waiting: (() => void)[] = [];
  let isRunning = true;
  const { promise: ended, resolve: gone } = Promise.withResolvers<void>();
  worker.on('message', () => waiting.shift()?.());
  worker.on('error', () => {}); // 'exit' follows
  worker.on('exit', () => {
    isRunning = false;
    for (const done of waiting.splice(0)) done();
    gone();
  });
  worker.unref(); // after the listeners: they would make the process wait for messages

  return {
    async checkpoint() {
      if (!isRunning) return;
      worker.ref();
      await new Promise<void>((done) => {
        waiting.push(done);
        worker.postMessage('checkpoint');
      });
      if (waiting.length === 0) worker.unref();
    },
    end() {
      worker.ref();
      worker.postMessage('end');
      return ended;
    },
  };
}

/** What the thread runs. It is text, so that no bundler has to find a file; it is plain JavaScript that Node runs as it is. */
const SOURCE = `
'use strict';
const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
process.emitWarning = () => {}; // Node 22 warns that SQLite is experimental
const { DatabaseSync } = process.getBuiltinModule(workerData.module);
let connection;

function checkpoint() {
  try {
    if (!connection) {
      connection = new DatabaseSync(workerData.location, { timeout: 10 });
      connection.exec('PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 0');
    }
    const { log, checkpointed } = connection.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    if (log > 0 && log === checkpointed) restartLog();
  } catch {
    close(); // locked or full: the next one moves these pages, too
  }
}

// The first commit after a complete checkpoint starts the log again and waits for the disk, whatever its level. Made here, it does not
// block the event loop. It writes the number that is there.
function restartLog() {
  connection.exec('BEGIN IMMEDIATE');
  const { user_version } = connection.prepare('PRAGMA user_version').get();
  connection.exec('PRAGMA user_version = ' + user_version + '; COMMIT');
}

// Truncates the log unless another connection reads it: the main thread then has little left to do after a deletion.
function empty() {
  try {
    connection?.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  } catch {}
}

function close() {
  try {
    connection?.close(); // which rolls back
  } catch {}
  connection = undefined;
}

parentPort.on('message', (message) => {
  checkpoint();
  if (message === 'checkpoint') return parentPort.postMessage('done');
  empty();
  close();
  parentPort.close();
});
`;
