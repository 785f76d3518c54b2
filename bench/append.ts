/** The cost of durability: the store compared with SQLite itself. Each part is a file in `append/` that yields its figures. */
import { concurrentSessions } from './append/concurrent-sessions.ts';
import { loneAppends } from './append/lone-appends.ts';
import { opening } from './append/opening.ts';
import { pageSizes } from './append/page-sizes.ts';
import type { Section } from './figure.ts';

const NAME = 'append';

export const section: Section = {
  name: NAME,
  about: 'durable appends of one 600-character message, SQLite with WAL and synchronous = FULL',
  async *run() {
    yield* loneAppends(NAME);
    yield* concurrentSessions(NAME);
    yield* opening(NAME);
    yield* pageSizes(NAME);
  },
};
