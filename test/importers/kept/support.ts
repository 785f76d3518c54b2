/** Stores, and folders of agents, for imports. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { SessionEvent } from '../../../src/core/log/events.ts';
import { memoryStore } from '../../../src/index.ts';
import type { SessionInfo, Store } from '../../../src/ports/store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { folder } from '../places.ts';

/** Every store that imports are tested with. */
export const STORES: readonly (readonly [name: string, open: () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['sqlite', () => openSqlite()],
];

/** A new SQLite store that is closed after the test. */
export async function openSqlite(path: string = join(folder(), 'kept.db')): Promise<Store> {
  const store = await sqliteStore(path, { backgroundIndexing: false });
  onTestFinished(() => store.close());
  return store;
}

export async function imported(store: Store): Promise<readonly SessionInfo[]> {
  const { sessions } = await store.listSessions({ limit: 1000 });
  return sessions.filter(({ source }) => source !== undefined).sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function eventsOf(store: Store, id: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of store.read(id)) events.push(event);
  return events;
}

/** The bytes of all files below a folder, by relative path. */
export function filesBelow(root: string): Readonly<Record<string, string>> {
  const names = readdirSync(root, { recursive: true }) as string[];
  const files = names.filter((name) => statSync(join(root, name)).isFile());
  return Object.fromEntries(files.sort().map((name) => [name, readFileSync(join(root, name)).toString('latin1')]));
}

/** A line of Claude Code: what a user typed. */
export function prompt(session: string, n: number, text: string = `prompt ${n}`): string {
  const parentUuid = n === 0 ? null : `${session}-${n - 1}`;
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
  const message = { role: 'user', content: text };
  return `${JSON.stringify({ parentUuid, sessionId: session, type: 'user', cwd: '/project', uuid: `${session}-${n}`, timestamp: at, message })}\n`;
}
