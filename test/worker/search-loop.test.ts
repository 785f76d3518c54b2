import { expect, test } from 'vitest';
import { fakeClock } from '../../src/testing.ts';
import { SearchLoop } from '../../src/worker/search-loop.ts';

test('rings that follow each other without a pause do not delay the search that they ask for', async () => {
  const clock = fakeClock();
  let searches = 0;
  const search = async (): Promise<void> => void searches++;
  const loop = new SearchLoop({ clock, pollMs: 0, isBackground: true, search, report: () => {} });
  loop.start();
  while (!loop.last) await Promise.resolve();
  for (let ms = 0; ms < 200; ms += 10) {
    loop.ring();
    clock.advance(10);
    await new Promise(setImmediate);
  }
  await loop.stop();
  expect(searches).toBeGreaterThanOrEqual(4);
});
