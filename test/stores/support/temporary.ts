import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { NewEvent, SessionEvent } from '../../../src/core/log/events.ts';
import type { DraftChunk, Lease, ReadOptions, Store } from '../../../src/ports/store.ts';
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';

/** A directory that is removed after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-stores-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The path of a database that does not exist yet. */
export function temporaryDatabase(): string {
  return join(temporaryDirectory(), 'test.db');
}

/** A store that is closed after the test. */
export async function openStore(path: string, options?: SqliteStoreOptions): Promise<SqliteStore> {
  const store = await sqliteStore(path, options);
  onTestFinished(() => store.close());
  return store;
}

export function note(text: unknown): NewEvent {
  return { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text };
}

export function said(text: string): NewEvent {
  const at = '2026-01-01T00:00:00.000Z';
  const message = { id: 'm', role: 'user', content: [{ type: 'text', text }] };
  return { type: 'message/recorded', at, message } as unknown as NewEvent;
}

/** Acquires a lease and expects that it is free. */
export async function leaseOn(store: Store, sessionId: string): Promise<Lease> {
  const holder = { id: 'holder', host: 'host', pid: 1, startedAt: '0' };
  const { acquired, lease } = await store.acquireLease(sessionId, { holder, ttlMs: 60_000 });
  if (!acquired) throw new Error(`session ${sessionId} is leased to ${lease.holder.id}`);
  return lease;
}

/** A piece of a streamed response. */
export function chunk(fence: number, n: number, fields: Partial<DraftChunk> = {}): DraftChunk {
  const place = { draftId: 'e', evaluationId: 'e', turn: 1, attempt: 1, blockId: 'b' };
  return { fence, n, ...place, delta: `${fence}.${n}`, ...fields };
}

export async function readAll(store: Store, sessionId: string, options?: ReadOptions): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of store.read(sessionId, options)) events.push(event);
  return events;
}
