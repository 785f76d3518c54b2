import { openSession } from '../../../src/index.ts';
import type { StudioHost } from './studio-host.ts';

/** Makes a session that workers have given up on, while no worker of the host runs: a new input would be tried at once. */
export async function giveUp(host: StudioHost, id: string): Promise<void> {
  const { port } = new URL(host.url);
  await host.closeServer();
  const session = await openSession({ store: host.store, id });
  await session.send('Hello');
  const error = { code: 'INTERNAL', message: 'its tools could not be loaded' } as const;
  await session.append([{ type: 'session/suspended', error, attempts: 5 }]);
  await session.close();
  await host.listen(Number(port));
}
