import { HoldfastError } from '../../../core/errors.ts';
import { BusyResult, type Database } from '../driver.ts';

/**
 * Moves everything from the write-ahead log into the database and cuts the log to nothing, so that no older version of a page
 * is left in a file. Throws SQLite's BUSY while another connection still reads from the log.
 */
export function emptyWriteAheadLog(database: Database): void {
  const busy = database.pragma('wal_checkpoint(TRUNCATE)');
  if (busy) throw new BusyResult('the write-ahead log is in use');
}

/** The same as `emptyWriteAheadLog`, unless another connection uses the log; the next checkpoint then does the rest. */
export function emptyIfFree(database: Database): void {
  try {
    emptyWriteAheadLog(database);
  } catch {
    // Another connection reads or writes. The rows are deleted; their old pages stay in the log until it is written over.
  }
}

/** Thrown to the caller that erases while a reader keeps the log: the new event is stored, and the old bytes are still there. */
export function stillInLog(sessionId: string, seq: number, cause: unknown): HoldfastError {
  return new HoldfastError(
    'STORE_BUSY',
    `event ${seq} of session ${sessionId} is replaced, but a reader keeps its old text in the write-ahead log; repeat this when that reader is done`,
    { cause },
  );
}
