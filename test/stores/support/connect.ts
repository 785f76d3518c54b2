import { onTestFinished } from 'vitest';
import { Database } from '../../../src/stores/sqlite/driver.ts';

/** A plain connection that is closed after the test. */
export function connect(path: string): Database {
  const database = new Database(path, { timeoutMs: 5000 });
  onTestFinished(() => {
    database.close();
  });
  return database;
}
