/**
 * One process of the chaos test: `worker.ts <directory> <role> <seed> <session…>`. It prints a line for each acknowledgement, and is
 * killed or stopped at any instant. A line that starts with `wrong` is a defect.
 *
 *     runner      brings one session to its end, beside other runners of the same session
 *     approver    approves every call that waits
 *     keeper      appends, erases, forks, deletes, compacts and backs up beside them
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type HoldfastError, isHoldfastError, openSession, type Session } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { randomFrom } from '../support/random.ts';
import { erasable, runAgent } from './agent.ts';
import { outsideFile } from './outside.ts';

const [directory = '.', role = 'runner', seed = '1', ...sessions] = process.argv.slice(2);
const store = await sqliteStore(join(directory, 'agent.db'));
const outside = outsideFile(join(directory, 'effects.log'));
const random = randomFrom(Number(seed));

/** Writing a short line to a pipe is atomic: a printed line was acknowledged. */
const say = (...words: readonly (string | number)[]): void => void writeSync(1, `${words.join(' ')}\n`);

/** Errors that a process may get while others work on the same session. */
const REFUSALS = new Set<HoldfastError['code']>([
  'SESSION_BUSY',
  'SESSION_CONFLICT',
  'STORE_BUSY',
  'TOOL_CALL_NOT_FOUND', // the approver was stopped during its approval, and repeated it
]);

/** Does something that other processes may prevent; false when they did. */
async function unlessRefused(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isHoldfastError(error) && REFUSALS.has(error.code)) return false;
    throw error;
  }
}

async function withSession(id: string, work: (session: Session) => Promise<void>): Promise<void> {
  const session = await openSession({ store, id });
  try {
    await work(session);
  } finally {
    await session.close();
  }
}

async function erase(session: Session): Promise<void> {
  const message = erasable(session);
  if (!message) return;
  // A process may have died between replacing an event and recording the erasure: then it is erased again.
  for await (const _ of session.events({ types: ['message/erased'] })) return;
  await session.eraseMessage(message.id);
  say('erased', session.id);
}

async function run(id: string): Promise<void> {
  for (;;) {
    const isDone = await unlessRefused(() =>
      withSession(id, async (session) => {
        for (;;) {
          const { status, reason, message = '' } = await runAgent(session, outside, { paceMs: 4 });
          if (status === 'completed') return erase(session);
          if (reason !== 'APPROVAL_REQUIRED') throw new Error(`${id} is suspended: ${message}`);
          await approval(session);
        }
      }),
    );
    if (isDone) break;
    await setTimeout(20 + random() * 40);
  }
  say('done', id);
}

/** Waits until no call needs an approval. */
async function approval(session: Session): Promise<void> {
  const waits = (): boolean => session.pending().some(({ status, approval }) => status === 'pending' && !approval);
  for (; waits(); await session.refresh()) await setTimeout(20 + random() * 40);
}

async function approve(id: string): Promise<void> {
  await withSession(id, async (session) => {
    for (const call of session.pending()) {
      if (call.name !== 'deploy' || call.status !== 'pending' || call.approval) continue;
      await session.approve(call, { by: 'the approver' });
      say('approved', id, call.callId);
    }
  });
}

const NOTES = `notes-${seed}`;
let notes = 0;
let made = 0;

const KEEPING: readonly ((id: string) => Promise<void>)[] = [
  async function append() {
    const events = Array.from({ length: 1 + Math.floor(random() * 3) }, () => note(`note ${++notes}`));
    const { seq } = await store.append(NOTES, events, { id: `${NOTES}-${notes}`, expectedSeq: notes - events.length });
    say('noted', NOTES, seq);
  },
  async function eraseOne(id) {
    await withSession(id, erase);
  },
  async function fork(id) {
    await withSession(id, async (session) => {
      if (session.seq === 0) return;
      const target = `fork-${seed}-${++made}`;
      const forked = await session.fork({ id: target });
      await forked.close();
      say('forked', target, id);
    });
  },
  async function deleteOne() {
    const id = `gone-${seed}-${++made}`;
    const events = Array.from({ length: 20 }, () => note(`hunter2 ${'x'.repeat(200)}`));
    await store.append(id, events, { id, expectedSeq: 0 });
    await store.deleteSession(id);
    say('deleted', id);
  },
  async function compact(id) {
    await withSession(id, (session) => (session.seq > 0 ? session.compact() : Promise.resolve()));
  },
  async function backUp() {
    if (random() < 0.7) return; // a backup is as large as the database
    const file = `backup-${seed}-${++made}.db`;
    say('begins', file, NOTES, notes);
    await store.backup(join(directory, file));
    say('backup', file);
  },
];

function note(text: string): { readonly type: string; readonly at: string; readonly text: string } {
  return { type: 'note/added', at: new Date().toISOString(), text };
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

try {
  say('ready');
  if (role === 'runner') {
    for (const id of sessions) await run(id);
    await store.close();
  } else {
    for (;;) {
      const id = pick(sessions);
      const known = notes;
      const isDone = await unlessRefused(() => (role === 'approver' ? approve(id) : pick(KEEPING)(id)));
      if (!isDone) notes = known;
      await setTimeout(random() * (role === 'approver' ? 60 : 30));
    }
  }
} catch (error) {
  say('wrong', role, ...sessions, JSON.stringify(error instanceof Error ? (error.stack ?? error.message) : error));
  process.exit(1);
}
