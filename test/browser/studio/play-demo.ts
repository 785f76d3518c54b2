/** Every kind of session that Studio shows, for screenshots and `npm run dev`. */
import type { BlockPage } from '../../../src/server/routes/block-routes.ts';
import { giveUp } from './give-up.ts';
import { playScenes } from './scenes.ts';
import type { StudioHost } from './studio-host.ts';

/** Makes the sessions in a host that was started with `playRelease`. Afterwards commands wait, so that one session keeps running. */
export async function playDemo(host: StudioHost): Promise<void> {
  await playScenes(host);
  await forkRelease(host);
  await giveUp(host, 'given-up');
  await beginRun(host);
}

/** A fork of the release before its last message, which says it in other words to another model. */
async function forkRelease(host: StudioHost): Promise<void> {
  const { blocks } = await host.json<BlockPage>('sessions/release/blocks?limit=500');
  const last = blocks.findLast(({ type }) => type === 'user_message');
  const fork = { id: 'release-2', title: 'Release, explained to a child', metadata: { model: 'scripted-2' } };
  await host.act('sessions/release/fork', { ...fork, block: last?.id, before: true, input: 'Explain it to a child.' });
  await host.reaches('release-2', 'completed');
}

/** A session whose agent is in the middle of a command, with a queued message. */
async function beginRun(host: StudioHost): Promise<void> {
  host.script('Watch the tests', [
    {
      text: 'I watch them until they are green.',
      toolCalls: [{ name: 'Bash', arguments: { command: 'npm test -- --watch' } }],
    },
  ]);
  host.commands.close();
  await host.send('running', 'Watch the tests until they are green.');
  while (!host.ran.some(({ input }) => input === 'npm test -- --watch')) await new Promise(setImmediate);
  await host.send('running', 'Then write down what you did.');
}
