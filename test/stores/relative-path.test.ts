/** A relative path is resolved when the store is opened, and later changes of the working directory do not matter. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withSources } from '../support/documents.ts';
import { temporaryDirectory } from './support/temporary.ts';

const PROGRAM = withSources(`
import { sqliteStore } from 'holdfast/sqlite';
const store = await sqliteStore('sessions.db');
process.chdir('elsewhere');
const event = { type: 'note/added', at: new Date().toISOString() };
await store.append('s', [event], { id: 'a', expectedSeq: 0 });
const holder = { id: 'h', host: 'h', pid: process.pid, startedAt: '0' };
const { lease } = await store.acquireLease('s', { holder, ttlMs: 60_000 });
const keeper = store.keepLease('s', lease.fence, { ttlMs: 60_000, onLost: () => {} });
if (!(await keeper.renew())) throw new Error('the lease was not renewed');
keeper.stop();
await store.backup('copy.db');
await store.close();
`);

test('a process that changes its directory appends to, renews in and copies the file that it opened', () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'elsewhere'));
  writeFileSync(join(directory, 'program.ts'), PROGRAM);
  execFileSync(process.execPath, ['--no-warnings', 'program.ts'], { cwd: directory, encoding: 'utf8' });
  expect(existsSync(join(directory, 'sessions.db'))).toBe(true);
  // The backup's own path is relative to the working directory at that time.
  expect(readdirSync(join(directory, 'elsewhere'))).toEqual(['copy.db']);
});
