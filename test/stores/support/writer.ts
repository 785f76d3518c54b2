/**
 * A process that writes until it is killed: `writer.ts <database> <name> <seed>`. It appends to its own sessions and to sessions that
 * all writers share, and prints a line for each acknowledged append.
 */
import { writeSync } from 'node:fs';
import { isHoldfastError } from '../../../src/core/errors.ts';
import type { NewEvent } from '../../../src/core/log/events.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';

const [path = '', name = '', seed = '1'] = process.argv.slice(2);
const store = await sqliteStore(path, { busyTimeoutMs: 20_000 });

let state = Number(seed);
function random(below: number): number {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((state / 0x80000000) * below);
}

async function writeForever(sessionId: string): Promise<never> {
  let head = (await store.head(sessionId)).seq;
  for (let n = 0; ; n++) {
    const id = `${name}/${sessionId}/${n}`;
    const size = 1 + random(6);
    const events = Array.from(
      { length: size },
      (_, part): NewEvent => ({
        type: 'message/recorded',
        at: new Date().toISOString(),
        append: id,
        part,
        size,
        message: {
          role: 'user',
          content: [{ type: 'text', text: `word${random(1000)} `.repeat(1 + random(200)) }],
        } as never,
      }),
    );
    head = await append(sessionId, id, events, head);
    writeSync(1, `${sessionId} ${id} ${head}\n`);
    if (random(50) === 0) await store.search(`word${random(1000)}`);
  }
}

/** Appends at the end, which other writers may have moved. */
async function append(sessionId: string, id: string, events: readonly NewEvent[], from: number): Promise<number> {
  for (let expectedSeq = from; ; ) {
    try {
      return (await store.append(sessionId, events, { id, expectedSeq })).seq;
    } catch (error) {
      if (!isHoldfastError(error, 'SESSION_CONFLICT')) throw error;
      expectedSeq = (await store.head(sessionId)).seq;
    }
  }
}

await Promise.all([`own-${name}`, 'shared-1', 'shared-2', 'shared-3'].map(writeForever));
