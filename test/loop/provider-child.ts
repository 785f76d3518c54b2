/**
 * One process with a real provider client and a real database: `provider-child.ts <provider> <url> <database> [<crash>]`. It kills
 * itself with SIGKILL at the given point; without one it prints the final conversation.
 */
import { setImmediate } from 'node:timers/promises';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAdapter } from '../../src/evaluate.ts';
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { CRASH_TURN, promptWith } from './provider-agent.ts';

const [provider, url = '', database = '', crash] = process.argv.slice(2);
const apiKey = 'key';
const MODELS = {
  'openai.responses': () => createOpenAI({ apiKey, baseURL: `${url}/openai/v1` }).responses('gpt-5'),
  'openai.chat': () => createOpenAI({ apiKey, baseURL: `${url}/openai/v1` }).chat('gpt-4o'),
  anthropic: () => createAnthropic({ apiKey, baseURL: `${url}/anthropic/v1` })('claude-sonnet-4-5'),
  compatible: () => createOpenAICompatible({ name: 'local', apiKey, baseURL: `${url}/compatible/v1` })('local-model'),
};
const die = (): void => void process.kill(process.pid, 'SIGKILL');

const store = await sqliteStore(database);
const session = await openSession({ store, id: 's' });
const prompt = promptWith(async (name, { turn, session: view }) => {
  if (turn !== CRASH_TURN || name === 'read') return;
  const isResult = (): boolean =>
    view.state.record.messages.toArray().some((message) => message.role === 'tool' && message.turn === CRASH_TURN);
  if (crash === 'between results') while (!isResult()) await setImmediate();
  if (crash === 'in a tool' || crash === 'between results') die();
});
const adapter = createAdapter({ model: MODELS[provider as keyof typeof MODELS]() });
const response = await adapter.evaluate(prompt, {
  session,
  input: 'Please.',
  resume: 'auto',
  onEvent(event) {
    if (crash === 'in mid-stream' && event.type === 'message/delta' && event.turn === CRASH_TURN) die();
    if (event.type !== 'message/recorded') return;
    const { role, turn } = event.message;
    if (crash === 'before the request' && role === 'tool' && turn === CRASH_TURN - 1) die();
    if (crash === 'after the answer' && role === 'assistant' && turn === CRASH_TURN) die();
  },
});
console.log(JSON.stringify({ response, messages: session.messages() }));
await session.close();
await store.close();
