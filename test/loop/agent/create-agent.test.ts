/** What `createAgent` and `agent.run` refuse, each with what to do. */
import { expect, test } from 'vitest';
import { createAgent, openStore, scriptedModel } from '../../../src/index.ts';

const echo = scriptedModel(() => 'Hello.');
const echoing = createAgent({ name: 'echo', model: echo, instructions: 'Be brief.' });
const brief = { name: 'x', model: echo, instructions: '' } as const;
test.for([
  ['no name', { model: echo, instructions: '' }, /needs a name/],
  ['a name and a namespace', { ...brief, ns: 'a', key: 'b' }, /needs a name/],
  ['a name with spaces', { ...brief, name: 'my agent' }, /letters/],
  ['neither model nor adapter', { name: 'x', instructions: '' }, /model/],
  ['a misspelt option', { ...brief, instruction: '' }, /instruction/],
  ['settings of a model beside an adapter', { ...brief, adapter: { run: () => {} } }, /model or an adapter/],
  ['a prompt beside instructions', { prompt: echoing.prompt, model: echo, instructions: 'x' }, /instructions/],
] as const)('createAgent refuses %s', ([, options, message]) => {
  expect(() => createAgent(options as never)).toThrow(message);
});

test('agent.run refuses what is not a session, and an id without an input', async () => {
  const store = await openStore('memory:');
  await expect(echoing.run(store as never, 'Hi.')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(echoing.run(await store.session('s'), undefined, { id: 'm1' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});
