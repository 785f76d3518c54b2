import type { ConversationEvent } from '../conversation/events.ts';

/** How many events a batch has at least, except the last. */
const BATCH = 64;

/** Joins the events of a conversion into batches. The conversion yields a promise where it needs to read more of a file first. */
export async function* inBatches(
  steps: Iterable<readonly ConversationEvent[] | Promise<unknown>>,
): AsyncGenerator<readonly ConversationEvent[]> {
  let batch: ConversationEvent[] = [];
  for (const step of steps) {
    if (step instanceof Promise) {
      await step;
      continue;
    }
    for (const event of step) batch.push(event);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}
