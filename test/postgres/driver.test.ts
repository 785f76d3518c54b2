/** What the driver `pg` prints about its use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { databaseUrl, dropSchema, newSchema } from './support/schemas.ts';

test('a process that follows and renews many sessions at once makes the driver print no warning', async () => {
  const schema = newSchema();
  onTestFinished(() => dropSchema(schema));
  const script = join(import.meta.dirname, 'support/follow-and-renew.ts');
  const child = spawn(process.execPath, [script, databaseUrl(), schema], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'renewed\n', stderr: '' });
});
