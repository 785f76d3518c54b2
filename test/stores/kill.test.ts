import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { SEED } from '../support/random.ts';
import { openStore, readAll, temporaryDatabase } from './support/temporary.ts';

const KILLS = 50;
const WRITERS = 2;
let writer: BundledScript;
beforeAll(async () => {
  writer = await bundleScript(join(import.meta.dirname, 'support', 'writer.ts'));
});
afterAll(() => writer.remove());

/** Runs a writer for some appends, kills it during the next one, and returns what it had acknowledged. */
async function writeAndKill(path: string, name: string, seed: number, appends: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [writer.path, path, name, String(seed)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.split('\n').length > appends) child.kill('SIGKILL');
  });
  const signal = await new Promise((resolve) => child.on('close', (_, by) => resolve(by)));
  expect(signal, errors).toBe('SIGKILL');
  // The last line may be incomplete; its append may or may not have been acknowledged.
  return output.split('\n').slice(0, -1);
}

test('two writer processes killed at random lose no acknowledged append and leave no half append (I1)', async () => {
  const path = temporaryDatabase();
  const acknowledged: string[] = [];
  let kills = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, w) => {
      while (kills < KILLS) {
        const round = kills++;
        // The instant of the kill varies with the speed of the machine.
        const appends = 1 + ((SEED + round * 7919) % 60);
        acknowledged.push(...(await writeAndKill(path, `w${w}.${round}`, SEED + round, appends)));
      }
    }),
  );
  expect(kills).toBeGreaterThanOrEqual(KILLS);
  expect(acknowledged.length, `SEED=${SEED}`).toBeGreaterThan(KILLS);

  const store = await openStore(path);
  const { sessions } = await store.listSessions({ limit: 1000 });
  const lastOf = new Map<string, string>();
  let events = 0;
  for (const { id: sessionId, seq } of sessions) {
    const log = (await readAll(store, sessionId)) as unknown as readonly {
      append: string;
      part: number;
      size: number;
      seq: number;
    }[];
    expect(log.map((event) => event.seq)).toEqual(log.map((_, i) => i + 1));
    expect(log.length).toBe(seq);
    events += log.length;
    for (let i = 0; i < log.length; i += log[i]?.size ?? 1) {
      const { append = '', size = 1 } = log[i] ?? {};
      const parts = log.slice(i, i + size).map((event) => [event.append, event.part]);
      expect(parts).toEqual(Array.from({ length: size }, (_, part) => [append, part]));
      expect(lastOf.has(append), `${append} is there twice`).toBe(false);
      lastOf.set(append, `${sessionId} ${append} ${i + size}`);
    }
  }
  for (const line of acknowledged) expect(lastOf.get(line.split(' ')[1] ?? '')).toBe(line);
  expect(await store.check()).toEqual({ ok: true, problems: [], sessions: sessions.length, events });
  // The index catches up with what the killed processes left unindexed.
  const all = await store.search('word*', { limit: 1_000_000 });
  expect(all.length).toBe(events);
});
