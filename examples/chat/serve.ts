/**
 * Serves a chat page and the sessions that it shows: `npm run example:chat` (the hooks of `holdfast/react`) or `npm run example:use-chat` (a
 * stock `useChat` of the AI SDK). `PORT` is the page's port, the one after it the server's. Sessions are kept in `chat.db` of `DIRECTORY`.
 */
import { readFileSync } from 'node:fs';
import { createServer as createPageServer } from 'node:http';
import { join } from 'node:path';
import { createAgent, openStore } from 'holdfast';
import { createServer } from 'holdfast/server';
import { bundlePage } from './bundle-page.ts';
import { sendLetter, slowModel } from './slow-model.ts';

const page = process.argv[2] === 'use-chat' ? 'use-chat-page' : 'conversation-page';
const port = Number(process.env.PORT ?? 5173);
const serverPort = Number(process.env.SERVER_PORT ?? port + 1);

const script = process.env.SCRIPT ? readFileSync(process.env.SCRIPT, 'utf8') : await bundlePage(page);
const html = readFileSync(join(import.meta.dirname, 'index.html'), 'utf8').replace('SERVER_PORT', String(serverPort));
const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');

const store = await openStore(join(process.env.DIRECTORY ?? '.', 'chat.db'));
const assistant = createAgent({ name: 'assistant', model: slowModel, instructions: 'Be kind.', tools: [sendLetter] });
const server = createServer({
  store,
  agents: { assistant },
  origins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
});
const { url } = await server.listen({ port: serverPort });

const files: Readonly<Record<string, readonly [type: string, content: string]>> = {
  '/page.js': ['text/javascript', script],
  '/style.css': ['text/css', style],
};
createPageServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const [type, content] = files[pathname] ?? ['text/html', html];
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(content);
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port} shows the sessions of ${url}`));
