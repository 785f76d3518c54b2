import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { identify, migrate } from '../../src/stores/sqlite/connection/migrate.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';

test.each([0, 1, 2])(
  'a database that another process creates after %i of the identifying reads is accepted',
  (reads) => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-created-'));
    const file = join(directory, 'sessions.db');
    const [first, second] = [1, 2].map(() => new Database(file, { readOnly: false, timeoutMs: 1000 }));
    onTestFinished(() => {
      first?.close();
      second?.close();
      rmSync(directory, { recursive: true, force: true });
    });
    if (!first || !second) throw new Error('two connections');
    let left = reads;
    const raced = new Proxy(first, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (left-- === 0) migrate(second, file);
          return value.apply(target, args);
        };
      },
    });
    expect(['current', 'outdated']).toContain(identify(raced, file));
    migrate(first, file);
    expect(identify(first, file)).toBe('current');
  },
);
