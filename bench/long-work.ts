/** How long work on a session of a million events blocks others: the longest lock and the longest block of the event loop. */
import { type NewEvent, openSession } from '../src/index.ts';
import { sqliteStore } from '../src/sqlite.ts';
import { inDirectory, timed } from './append/workload.ts';
import { atMost, type Figure, info, type Section } from './figure.ts';
import { watchEventLoop } from './long-work/event-loop.ts';
import { type OtherProcess, startOtherProcess } from './long-work/other-process.ts';

const NAME = 'long-work';
const EVENTS = 1_000_000;
const BATCH = 1000;
const MAX_LOCK_MS = 250;
const MAX_BLOCK_MS = 50;
const AT = '2026-01-01T00:00:00.000Z';

export const section: Section = {
  name: NAME,
  about: `a session of ${EVENTS} events is erased from, forked and deleted while another process appends`,
  async *run() {
    yield* inDirectory((path) => measured(path('long.db')));
  },
};

async function* measured(path: string): AsyncIterable<Figure> {
  const store = await sqliteStore(path);
  try {
    let seq = 0;
    while (seq < EVENTS) {
      const events = Array.from({ length: BATCH }, (_, i) => (i === 0 ? message(seq) : note(seq + i)));
      ({ seq } = await store.append('long', events, { id: `batch-${seq}`, expectedSeq: seq }));
    }
    const other = await startOtherProcess(path);
    try {
      yield* figures(other, 'nothing is done', () => new Promise((resolve) => setTimeout(resolve, 2000)), 'info');
      const session = await openSession({ store, id: 'long' });
      yield* figures(other, 'a message is erased', () => session.eraseMessage('message-500000'));
      yield* figures(other, 'it is forked', () => session.fork({ id: 'fork' }));
      await session.close();
      yield* figures(other, 'it is deleted', () => store.deleteSession('long'));
    } finally {
      await other.end();
    }
  } finally {
    await store.close();
  }
}

/** The longest append of the other process, and the longest block of this one's event loop, during `work`. */
async function* figures(
  other: OtherProcess,
  what: string,
  work: () => Promise<unknown>,
  limits?: 'info',
): AsyncIterable<Figure> {
  await other.waits(); // discards earlier measurements
  const eventLoop = watchEventLoop();
  const ms = await timed(work);
  const blocks = eventLoop.stop();
  const { longest, appends } = await other.waits();
  const note = `ms; ${(ms / 1000).toFixed(1)} s, ${appends} appends of the other process`;
  const figure = (name: string, value: number, limit: number): Figure =>
    limits === 'info' ? info(NAME, name, value, note) : atMost(NAME, name, value, limit, note);
  yield figure(`longest append of another process while ${what}`, longest, MAX_LOCK_MS);
  yield figure(`longest block of the event loop while ${what}`, blocks.longest, MAX_BLOCK_MS);
  yield info(NAME, `longest processor time of a turn while ${what}`, blocks.longestCpu, 'ms');
}

function note(n: number): NewEvent {
  return { type: 'note/added', at: AT, text: `Note ${n}.` };
}

function message(n: number): NewEvent {
  return {
    type: 'message/recorded',
    at: AT,
    message: {
      id: `message-${n}`,
      role: 'user',
      content: [{ type: 'text', text: `Message ${n}.` }],
      evaluationId: 'evaluation-1',
      conversationId: 'main',
      sequence: n,
      turn: 0,
      promptNs: 'bench',
      promptKey: 'long',
      createdAt: AT,
    },
  };
}
