/** A step of `npm run check`: the lock files have the packages of every platform, and name no registry. */
import { join } from 'node:path';
import { lockProblems } from './lock/lock-problems.ts';
import { readLocks } from './lock/read-locks.ts';

const problems = lockProblems(readLocks(join(import.meta.dirname, '..')));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
