import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];

afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
});

/** A directory that is removed after the test. */
export function temporaryDirectory(name: string): string {
  const path = mkdtempSync(join(tmpdir(), `holdfast-${name}-`));
  made.push(path);
  return path;
}
