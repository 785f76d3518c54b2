/** `server-child.ts <database>`: a server whose agent begins a response and never ends it. */
import { createAgent, type Model } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { chat } from './chat-prompt.ts';

const endless: Model = {
  provider: 'test',
  modelId: 'endless',
  async *stream() {
    yield { type: 'text-delta', blockId: 't', delta: 'The beginning' };
    await new Promise(() => {});
  },
};
const store = await sqliteStore(process.argv[2] ?? '');
const server = createServer({ store, agents: () => createAgent({ model: endless, prompt: chat }) });
const { url } = await server.listen();
console.log(url);
