import { setImmediate } from 'node:timers/promises';
import type { Store } from '../../../src/index.ts';

/** A store whose reads take some turns of the event loop, so that much happens between two of them. */
export function hesitant(store: Store, random: () => number): Store {
  const hesitate = async (): Promise<void> => {
    for (let turns = random() * 6; turns > 4; turns -= 0.5) await setImmediate();
  };
  return {
    ...store,
    async readDraft(...args) {
      await hesitate();
      const chunks = await store.readDraft(...args);
      await hesitate();
      return chunks;
    },
    async head(...args) {
      await hesitate();
      const head = await store.head(...args);
      await hesitate();
      return head;
    },
    async *read(...args) {
      await hesitate();
      yield* store.read(...args);
      await hesitate();
    },
  };
}
