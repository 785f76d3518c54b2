/** Following files that agents write. The tests wait for what is imported, never for a time. */
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { memoryStore } from '../../../src/index.ts';
import type { Store } from '../../../src/ports/store.ts';
import { importTranscripts, loadImported } from '../../../src/transcripts.ts';
import { folder, write, writeDatabase } from '../places.ts';
import { imported, prompt } from './support.ts';

/** Watches a root; `until` resolves as soon as a condition holds after a report. */
function watching(store: Store, root?: string) {
  const aborter = new AbortController();
  let reported: () => void = () => {};
  const done = importTranscripts(store, {
    ...(root !== undefined && { paths: [root] }),
    watch: true,
    signal: aborter.signal,
    onProgress: () => reported(),
  });
  onTestFinished(async () => {
    aborter.abort();
    await done;
  });
  return {
    stop: async () => {
      aborter.abort();
      return await done;
    },
    async until(condition: () => Promise<boolean>): Promise<void> {
      for (;;) {
        const next = new Promise<void>((resolve) => {
          reported = resolve;
        });
        if (await condition()) return;
        await next;
      }
    },
  };
}

async function textIs(store: Store, id: string, text: string): Promise<boolean> {
  if ((await store.head(id)).seq === 0) return false;
  return (await loadImported(store, id)).raw === text;
}

test('files that are new, grow, are rewritten and are deleted are followed until the signal aborts', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'p/a.jsonl': prompt('a', 0) });
  const a = join(root, 'p/a.jsonl');
  const watch = watching(store, root);
  const id = 'claude-sdk:a';
  await watch.until(() => textIs(store, id, prompt('a', 0)));
  appendFileSync(a, prompt('a', 1));
  await watch.until(() => textIs(store, id, prompt('a', 0) + prompt('a', 1)));
  write(root, { 'new/folder/b.jsonl': prompt('b', 0) });
  await watch.until(() => textIs(store, 'claude-sdk:b', prompt('b', 0)));
  writeFileSync(a, prompt('a', 7));
  await watch.until(() => textIs(store, id, prompt('a', 7)));
  write(root, { 'p/a/subagents/agent-x.jsonl': prompt('a', 3) });
  await watch.until(async () => Object.keys((await imported(store))[0]?.source?.files ?? {}).length === 2);
  rmSync(a);
  write(root, { 'new/folder/c.jsonl': prompt('c', 0) });
  await watch.until(() => textIs(store, 'claude-sdk:c', prompt('c', 0)));
  const result = await watch.stop();
  expect(result.problems).toEqual([]);
  expect((await imported(store)).map((session) => session.id)).toEqual([id, 'claude-sdk:b', 'claude-sdk:c']);
  appendFileSync(join(root, 'new/folder/b.jsonl'), prompt('b', 1));
  expect(await textIs(store, 'claude-sdk:b', prompt('b', 0))).toBe(true);
});

test('a database is followed, also when it is named itself', async () => {
  const store = memoryStore();
  const path = writeDatabase(folder());
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 10000'); // as OpenCode does
  const watch = watching(store, path);
  await watch.until(async () => (await imported(store)).length > 15);
  database.exec(`UPDATE part SET data = json_set(data, '$.text', 'wombat'), time_updated = time_updated + 1
    WHERE json_extract(data, '$.type') = 'text'`);
  await watch.until(async () => (await store.search?.('wombat'))?.length !== 0);
  database.close();
});

test('a watched folder that becomes a file, a symbolic link and a folder again is followed', async () => {
  const store = memoryStore();
  const root = write(folder(), { 'p/s/a.jsonl': prompt('a', 0), 'p/s/deep/b.jsonl': prompt('b', 0) });
  const watch = watching(store, root);
  await watch.until(async () => (await imported(store)).length === 2);
  const changed = join(root, 'p/s');
  const replacements = [() => writeFileSync(changed, 'x'), () => symlinkSync(root, changed), () => mkdirSync(changed)];
  for (const [i, replace] of replacements.entries()) {
    rmSync(changed, { recursive: true });
    replace();
    // The watcher has seen the replacement when it has seen what was written after it.
    write(root, { [`p/after-${i}.jsonl`]: prompt(`after-${i}`, 0) });
    await watch.until(() => textIs(store, `claude-sdk:after-${i}`, prompt(`after-${i}`, 0)));
  }
  write(root, { 'p/s/deep/c.jsonl': prompt('c', 0) });
  await watch.until(() => textIs(store, 'claude-sdk:c', prompt('c', 0)));
  appendFileSync(join(root, 'p/s/deep/c.jsonl'), prompt('c', 1));
  await watch.until(() => textIs(store, 'claude-sdk:c', prompt('c', 0) + prompt('c', 1)));
});

test('a watched root that is deleted and created again is followed', async () => {
  const store = memoryStore();
  const base = write(folder(), { 'above/root/p/a.jsonl': prompt('a', 0) });
  const watch = watching(store, join(base, 'above/root'));
  await watch.until(() => textIs(store, 'claude-sdk:a', prompt('a', 0)));
  for (const [name, removed] of [
    ['b', 'above/root'],
    ['c', 'above'],
  ] as const) {
    rmSync(join(base, removed), { recursive: true });
    write(base, { [`above/root/p/${name}.jsonl`]: prompt(name, 0) });
    await watch.until(() => textIs(store, `claude-sdk:${name}`, prompt(name, 0)));
    appendFileSync(join(base, `above/root/p/${name}.jsonl`), prompt(name, 1));
    await watch.until(() => textIs(store, `claude-sdk:${name}`, prompt(name, 0) + prompt(name, 1)));
  }
});

test('the usual folders of the agents are followed when they appear after the start', async () => {
  const store = memoryStore();
  const home = write(folder(), { '.claude/projects/p/a.jsonl': prompt('a', 0) });
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  vi.stubEnv('CLAUDE_CONFIG_DIR', join(home, '.claude'));
  vi.stubEnv('CODEX_HOME', join(home, '.codex'));
  vi.stubEnv('XDG_DATA_HOME', join(home, 'share'));
  const watch = watching(store);
  await watch.until(() => textIs(store, 'claude-sdk:a', prompt('a', 0)));
  write(home, { '.codex/sessions/2026/b.jsonl': prompt('b', 0) });
  await watch.until(() => textIs(store, 'claude-sdk:b', prompt('b', 0)));
  expect((await watch.stop()).problems).toEqual([]);
});
