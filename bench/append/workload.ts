import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { NewEvent } from '../../src/index.ts';
import { rawInsert } from '../raw-inserts.ts';

/** The event that every figure of the section writes: one recorded message of about 600 characters. */

const SENTENCE = 'The quick brown fox jumps over the lazy dog and says so. ';
const AT = '2026-01-01T00:00:00.000Z';

export function message(n: number): NewEvent {
  return {
    type: 'message/recorded',
    at: AT,
    message: {
      id: `message-${n}`,
      role: n % 2 ? 'assistant' : 'user',
      content: [{ type: 'text', text: `${n}: ${SENTENCE.repeat(10)}` }],
      evaluationId: 'evaluation-1',
      conversationId: 'main',
      sequence: n,
      turn: n % 2 ? (n + 1) / 2 : 0,
      promptNs: 'bench',
      promptKey: 'append',
      createdAt: AT,
    },
  };
}

/** Raw inserts of the same messages. */
export interface RawTable {
  insert(n: number): void;
  /** Many in one transaction, to lengthen the table. */
  fill(from: number, to: number): void;
}

export function rawTable(database: DatabaseSync): RawTable {
  const insertEvents = rawInsert(database);
  const insert = (n: number): void => insertEvents(n, [message(n)]);
  const fill = (from: number, to: number): void => {
    database.exec('BEGIN');
    for (let n = from; n < to; n++) insert(n);
    database.exec('COMMIT');
  };
  return { insert, fill };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Runs `work` in a directory that is removed afterwards. */
export async function* inDirectory<T>(work: (path: (name: string) => string) => AsyncIterable<T>): AsyncIterable<T> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    yield* work((name) => join(directory, name));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
