/** The cost of the server's live stream: for the agent, and for each reader. Each part is a file in `server/`. */
import { inDirectory } from './append/workload.ts';
import type { Section } from './figure.ts';
import { deltaFigures } from './server/delta-cost.ts';
import { readerFigures } from './server/reader-load.ts';

const NAME = 'server';

export const section: Section = {
  name: NAME,
  about: 'one session to many readers over HTTP, SQLite durable',
  async *run() {
    yield* inDirectory((path) => deltaFigures(NAME, path));
    yield* inDirectory((path) => readerFigures(NAME, path));
  },
};
