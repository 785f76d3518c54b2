/** Adds to the number in a file, under a lock: `lock-user.ts <file> <times>`. With 0 times it dies while it holds the lock. */
import { readFileSync, writeFileSync } from 'node:fs';
import { lockFile } from '../../../examples/json-store/file-lock.ts';

const [path = '', times] = process.argv.slice(2);
if (Number(times) === 0) {
  await lockFile(`${path}.lock`);
  process.kill(process.pid, 'SIGKILL');
}
for (let i = 0; i < Number(times); i++) {
  const unlock = await lockFile(`${path}.lock`);
  writeFileSync(path, String(Number(readFileSync(path, 'utf8')) + 1));
  unlock();
}
