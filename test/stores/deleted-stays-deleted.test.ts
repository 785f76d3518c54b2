/** Recorded content stays, and erased or deleted content is gone, as seen through sessions and files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { scriptedModel } from '../../src/index.ts';
import { openSession } from '../../src/session/session.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { messageOf, recorded, user } from '../core/log.ts';
import { note, openStore, readAll, temporaryDatabase } from './support/temporary.ts';

const LARGE = 'a large text that two sessions share '.repeat(20);
const script = (name: string): string => join(import.meta.dirname, 'support', name);

function count(path: string, table: string): number | undefined {
  const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
  try {
    return database.prepareValue<[], number>(`SELECT count(*) FROM ${table}`).get();
  } finally {
    database.close();
  }
}

/** Another process that erases and deletes. */
async function startRemover(path: string): Promise<{
  /** Resolves when the session is open there, with a promise for the end of the work. */
  begin(command: string): Promise<() => Promise<void>>;
  end(): Promise<void>;
}> {
  const child = spawn(process.execPath, [script('remover.ts'), path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const expectLine = async (line: string): Promise<void> => expect((await lines.next()).value).toBe(line);
  await expectLine('ready');
  return {
    async begin(command) {
      child.stdin.write(`${command}\n`);
      await expectLine('opened');
      return () => expectLine('done');
    },
    async end() {
      child.stdin.end();
      expect((await ended)[0]).toBe(0);
    },
  };
}

describe('contents (D58)', () => {
  test('erasing a message while another process records the same large text does not affect the other', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path, { busyTimeoutMs: 20_000 });
    const remover = await startRemover(path);
    const rounds = 40;
    for (let i = 0; i < rounds; i++) {
      const session = await openSession({ store, id: `s${i}`, maxInlineLength: 20 });
      // The eraser reads the log before it writes: long enough for the other process to be between its writes.
      const words = Array.from({ length: 300 }, (_, n) => ({ type: 'note/added', text: n }));
      await session.append([user(`${i} ${LARGE}`, 0), ...words]);
      const done = await remover.begin(`erase s${i}`);
      await session.append([user(`${i} ${LARGE}`, 1)]);
      await done();
    }
    await remover.end();
    for (let i = 0; i < rounds; i++) {
      const session = await openSession({ store, id: `s${i}`, maxInlineLength: 20 });
      expect(await session.resolve(session.messages())).toMatchObject([
        { content: [{ type: 'text', text: '[erased]' }] },
        { content: [{ type: 'text', text: `${i} ${LARGE}` }] },
      ]);
    }
    expect((await store.check()).problems).toEqual([]);
  });

  test('erasing a restored message removes its content', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    const [origin, copy] = [
      await openSession({ store, id: 'origin', maxInlineLength: 20 }),
      await openSession({ store, id: 'copy', maxInlineLength: 20 }),
    ];
    await origin.append([user(LARGE, 0)]);
    await copy.restore(origin.snapshot());
    await copy.eraseMessage('e1:0');
    expect(await origin.resolve(origin.messages())).toMatchObject([{ content: [{ text: LARGE }] }]);
    await store.deleteSession('origin');
    expect(count(path, 'contents')).toBe(0);
  });

  test.for([true, false])(
    'a tool result that looks like a reference is only text, whether that content exists (%s) or not',
    async (exists) => {
      const store = await openStore(temporaryDatabase());
      const other = await openSession({ store, id: 'other', maxInlineLength: 20 });
      await other.append([user(LARGE, 0)]);
      const [part] = other.messages()[0]?.content ?? [];
      const data = exists ? (part as { readonly data: string }).data : `sha256:${'0'.repeat(64)}`;
      const session = await openSession({ store, id: 's', maxInlineLength: 200 });
      const message = {
        ...messageOf('assistant', '', 0, { turn: 1 }),
        content: [{ type: 'file', mediaType: 'text/plain', data }],
      } as ConversationMessage;
      await session.append([recorded(message)]);
      const again = await openSession({ store, id: 's' });
      expect(await again.resolve(again.messages())).toEqual([message]);
    },
  );
});

describe('forks', () => {
  test.for(['deleted', 'erased'] as const)(
    'a fork whose origin is %s meanwhile has all its events or is rejected, and has no erased text',
    async (fate) => {
      const path = temporaryDatabase();
      const store = await openStore(path, { busyTimeoutMs: 20_000 });
      const remover = await startRemover(path);
      const length = 3000;
      for (let round = 0; round < 12; round++) {
        const [id, target] = [`origin${round}`, `fork${round}`];
        const origin = await openSession({ store, id });
        const words = Array.from({ length: length - 1 }, (_, i) => ({ type: 'note/added', text: i }));
        await origin.append([user('my secret', 0), ...words]);
        const done = await remover.begin(`${fate === 'deleted' ? 'delete' : 'erase'} ${id}`);
        const forking = origin.fork({ id: target, at: length }).then(
          () => true,
          () => false,
        );
        const wasThere = done().then(async () => (await readAll(store, target)).length > 0);
        const forked = await forking;
        const events = await readAll(store, target);
        expect([0, length + 1], `round ${round}`).toContain(events.length);
        expect(events.length > 0).toBe(forked);
        if (fate === 'erased' && !(await wasThere)) expect(JSON.stringify(events)).not.toContain('my secret');
        await wasThere;
      }
      await remover.end();
      expect((await store.check()).problems).toEqual([]);
    },
  );
});

describe('a deleted session', () => {
  test('is not recreated: its handles write neither events nor a snapshot into a new session with the same id', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    const old = await openSession({ store, id: 's' });
    await old.append([user('my password is hunter2', 0)]);
    await store.deleteSession('s');
    await expect(old.append([user('late', 1)])).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const anew = await openSession({ store, id: 's' });
    await anew.append([user('hello', 0)]);
    await expect(old.append([user('late', 1)])).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await expect(old.compact()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const read = await openSession({ store, id: 's' });
    expect(read.messages().map(({ content }) => content)).toEqual([[{ type: 'text', text: 'hello' }]]);
    expect(count(path, 'snapshots')).toBe(0);
  });

  test('has no drafts when it was deleted while a response streamed', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    const attempts: Promise<unknown>[] = [];
    const { promise: deleted, resolve } = Promise.withResolvers<boolean>();
    const { promise: triedAgain, resolve: tried } = Promise.withResolvers<void>();
    const deleting = {
      ...store,
      async appendDraft(...args: Parameters<typeof store.appendDraft>) {
        const written = store.appendDraft(...args);
        attempts.push(written);
        await written.catch(() => {});
        if (attempts.length === 1) resolve(await store.deleteSession('s'));
        else tried();
        return written;
      },
    };
    const session = await openSession({ store: deleting, id: 's' });
    const prompt = definePrompt({ ns: 'test', key: 'chat', instructions: 'Talk.' });
    let parts = 0;
    const model = scriptedModel(() => 'a response of many words', {
      // Deltas before the deletion and after it, then the end.
      beforePart: async () => {
        parts++;
        if (parts === 3) await deleted;
        if (parts === 5) await triedAgain;
      },
    });
    await createAdapter({ model })
      .evaluate(prompt, { session, input: 'talk' })
      .catch(() => {});
    expect(await deleted).toBe(true);
    await session.close();
    expect(count(path, 'drafts')).toBe(0);
    expect((await store.listSessions()).sessions).toEqual([]);
  });
});

describe('a database file', () => {
  test('a killed backup leaves no file that opens as a store', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    for (let i = 0; i < 20; i++)
      await store.append(`s${i}`, [note('x'.repeat(1_000_000))], { id: 'a', expectedSeq: 0 });
    const target = join(dirname(path), 'copy.db');
    const others = new Set(readdirSync(dirname(path)));
    const child = spawn(process.execPath, [script('backer.ts'), path, target], { stdio: 'inherit' });
    const ended = once(child, 'close');
    await once(child, 'spawn');
    // Blocks this process: the event loop would see the file only after the backup.
    const appeared = () =>
      readdirSync(dirname(path)).some((name) => !others.has(name) && name.startsWith(basename(target)));
    while (!appeared());
    child.kill('SIGKILL');
    expect((await ended)[1]).toBe('SIGKILL');
    if (existsSync(target)) expect((await (await openStore(target)).check()).sessions).toBe(20);
    await store.backup(join(dirname(path), 'again.db'));
  });

  test.for(['removed', 'renamed', 'replaced'] as const)(
    'that is %s while it is open acknowledges no append that no other process will see',
    async (fate) => {
      const path = temporaryDatabase();
      const store = await openStore(path);
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      if (fate === 'removed') for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
      else renameSync(path, `${path}.away`);
      if (fate === 'replaced') await (await openStore(path)).append('t', [note(1)], { id: 'a', expectedSeq: 0 });
      const append = store.append('s', [note(2)], { id: 'b', expectedSeq: 1 });
      await expect(append).rejects.toMatchObject({ code: 'STORE_REPLACED' });
      await expect(store.deleteSession('s')).rejects.toMatchObject({ code: 'STORE_REPLACED' });
      await expect(store.backup(`${path}.copy`)).rejects.toMatchObject({ code: 'STORE_REPLACED' });
    },
  );

  test('can be written to after it was restored', async () => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
    renameSync(path, `${path}.away`);
    await expect(store.append('s', [note(2)], { id: 'b', expectedSeq: 1 })).rejects.toMatchObject({
      code: 'STORE_REPLACED',
    });
    renameSync(`${path}.away`, path);
    expect(await store.append('s', [note(2)], { id: 'b', expectedSeq: 1 })).toEqual({ seq: 2 });
    expect(await readAll(store, 's')).toHaveLength(2);
  });
});
