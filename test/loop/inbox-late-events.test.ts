/** D61: inputs that are sent or withdrawn while a runner lets go of the session, or places them. */
import { expect, test } from 'vitest';
import { getQueuedInputs } from '../../src/index.ts';
import { tool } from './agent.ts';
import { chat, WORK_FIRST } from './chat-agent.ts';
import { racedStore } from './raced-store.ts';

test('an input that is sent while a run releases its lease is run by that run', async () => {
  const store = racedStore();
  const { session, run } = await chat({ store });
  await session.send('First.');
  store.beforeRelease((other) => other.send('Second.'));
  expect(await run()).toMatchObject({
    status: 'idle',
    responses: [{ text: 'You said: First.' }, { text: 'You said: Second.' }],
  });
  expect(getQueuedInputs(session)).toEqual([]);
});

test('a steer that is withdrawn while it is placed is not placed', async () => {
  const store = racedStore();
  const work = tool('work', async () => {
    await session.send('Faster.', { id: 'steer', mode: 'steer' });
  });
  const { session, run, said } = await chat({ store, tools: [work], script: WORK_FIRST });
  await session.send('Work.');
  store.before(
    (event) => (event as { readonly inputId?: string }).inputId === 'steer' && event.type === 'message/recorded',
    (other) => other.withdraw('steer'),
  );
  expect(await run()).toMatchObject({ status: 'idle' });
  expect(said().filter((line) => line.includes('Faster'))).toEqual([]);
  expect(session.state.record.inbox.items.get('steer')).toMatchObject({ status: 'withdrawn' });
});
