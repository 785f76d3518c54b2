/** Milliseconds of one turn of the event loop after which long work waits for the next one. */
const MAX_TURN_MS = 10;

let turn: { readonly since: number; readonly ended: Promise<void> } | undefined;

/**
 * Long work awaits this between its steps, so that an agent in this process, and other requests, run meanwhile: a promise that resolves
 * with the next turn of the event loop when all such work has used up the current one, else undefined. Awaiting promises alone starts
 * no new turn, however many there are.
 */
export function afterLongTurn(): Promise<void> | undefined {
  const now = performance.now();
  turn ??= { since: now, ended: nextTurn() };
  return now - turn.since > MAX_TURN_MS ? turn.ended : undefined;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    setImmediate(() => {
      turn = undefined;
      resolve();
    }),
  );
}
