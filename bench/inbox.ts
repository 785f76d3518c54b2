/** The cost of the inbox: sending, placing, and watching from another process. Each part is a file in `inbox/`. */
import { inDirectory } from './append/workload.ts';
import type { Section } from './figure.ts';
import { deltaFigures } from './inbox/delta-cost.ts';
import { readerFigures } from './inbox/reader-load.ts';
import { placing, sending } from './inbox/sending.ts';

const NAME = 'inbox';

export const section: Section = {
  name: NAME,
  about: 'inputs of 600 characters, SQLite durable, and readers in another process',
  async *run() {
    yield* sending(NAME);
    yield* placing(NAME);
    yield* inDirectory((path) => readerFigures(NAME, path));
    yield* inDirectory((path) => deltaFigures(NAME, path));
  },
};
