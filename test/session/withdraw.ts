/** An account, for tests of isolation. As a process: `withdraw.ts <database> <times>` makes that many concurrent withdrawals. */
import { defineSlice } from '../../src/core/fold/slices.ts';
import { type AnySession, openSession } from '../../src/session/session.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';

export const account = defineSlice({
  name: 'account',
  initial: [0],
  on: { 'balance/set': (_, event: { balance: number }) => [event.balance] },
});

/** Reads the balance, waits a turn of the event loop, and writes one less. */
export function withdraw(session: AnySession): Promise<void> {
  return session.transaction(async (tx) => {
    const balance = tx.select(account).latest() ?? 0;
    await new Promise(setImmediate);
    if (balance === 0) throw new Error('there is nothing left');
    await tx.dispatch({ type: 'balance/set', balance: balance - 1 });
  });
}

const [path, times] = process.argv.slice(2);
if (path?.endsWith('.db')) {
  const store = await sqliteStore(path);
  const session = await openSession({ store, id: 's1', slices: [account] });
  process.stdout.write('ready\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  process.stdin.destroy();
  await Promise.all(Array.from({ length: Number(times) }, () => withdraw(session)));
  await session.close();
  await store.close();
}
