import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@opencode-ai/sdk';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { OpenCodeSdk } from '../../src/agents/opencode/opencode-types.ts';
import { textOf } from '../../src/core/log/messages.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { type OpenCodeOptions, openCodeAdapter } from '../../src/opencode.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { type AgentScript, type ModelServer, startModelServer } from './support/model-server.ts';
import { openCodeOptions } from './support/opencode.ts';
import { temporaryDirectory } from './support/temporary.ts';

/** The secrets that we control OpenCode with are not available to its model: everything it does is recorded (D57). */

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function place(scripts: Readonly<Record<string, AgentScript>>): Promise<{
  readonly server: ModelServer;
  readonly options: OpenCodeOptions;
}> {
  const server = await startModelServer(scripts);
  servers.push(server);
  const directory = temporaryDirectory('secrets');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
  for (const path of [home, cwd]) mkdirSync(path);
  return { server, options: openCodeOptions({ url: server.url, home, cwd }) };
}

const INPUT = '[[script:main]] go';

test("the shell of OpenCode's model has neither the server's password nor the address of the bridge", async () => {
  const intruder = join(import.meta.dirname, 'support', 'intruder.ts');
  const { server, options } = await place({
    main: ({ turn }) =>
      turn === 1
        ? {
            toolCalls: [
              {
                name: 'bash',
                arguments: {
                  command: `'${process.execPath}' '${intruder}'; env | grep -c '^OPENCODE_CONFIG_CONTENT=.'`,
                  description: 'x',
                },
                id: 'toolu_bash',
              },
              { name: 'holdfast_echo', arguments: { text: 'a' }, id: 'toolu_echo' },
            ],
          }
        : 'done',
  });
  const echo = defineTool({
    name: 'echo',
    description: 'Says a text again',
    input: z.object({ text: z.string() }),
    effect: 'idempotent',
    execute: ({ text }) => `echo ${text}`,
  });
  const prompt = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo.', tools: [echo] });
  const session = await openSession({ store: memoryStore(), id: 'one' });
  const response = await openCodeAdapter(options).evaluate(prompt, { session, input: INPUT });
  expect(response.message).toBeUndefined();
  expect(response).toMatchObject({ status: 'completed', text: 'done' });
  const results = server.requests.at(-1)?.results;
  expect(results?.get('toolu_echo')).toEqual({ text: 'echo a', isError: false });
  const [found = '', config] = results?.get('toolu_bash')?.text.split('\n') ?? [];
  expect(JSON.parse(found)).toEqual({ ports: 1, opened: expect.not.arrayContaining([200]), reached: [] });
  expect(config).toBe('0');
});

test('a session that was opened beside ours may not send requests to the model, and ours continues', async () => {
  let intrude = async (): Promise<unknown> => 'no client';
  const { server, options } = await place({
    main: ({ turn }) =>
      turn === 1 ? { toolCalls: [{ name: 'holdfast_intrude', arguments: {}, id: 'toolu_intrude' }] } : 'done',
    beside: () => 'beside',
  });
  const intrusion = defineTool({
    name: 'intrude',
    description: 'Asks in another session',
    input: z.object({}),
    effect: 'once',
    execute: async () => JSON.stringify(await intrude()),
  });
  // As any process with the password, such as a plugin of the user's, or one that reads this process's memory.
  const knowing: OpenCodeSdk = {
    createOpencodeClient: (config) => {
      const client = sdk.createOpencodeClient(config);
      intrude = async () => {
        const { data } = await client.session.create({ body: {} });
        const { error, data: answer } = await client.session.prompt({
          path: { id: data?.id ?? '' },
          body: {
            model: { providerID: 'scripted', modelID: 'model' },
            parts: [{ type: 'text', text: '[[script:beside]] go' }],
          },
        });
        return { error, answer: answer?.info.error };
      };
      return (sdk as unknown as OpenCodeSdk).createOpencodeClient(config);
    },
  };
  const prompt = definePrompt({ ns: 'test', key: 'intrude', instructions: 'You intrude.', tools: [intrusion] });
  const session = await openSession({ store: memoryStore(), id: 'one' });
  const response = await openCodeAdapter({ ...options, sdk: knowing }).evaluate(prompt, { session, input: INPUT });
  expect(response.message).toBeUndefined();
  expect(response).toMatchObject({ status: 'completed', text: 'done' });
  expect(server.requests.map(({ script }) => script)).toEqual(['main', 'main']);
  const results = session.messages().flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []));
  expect(results.join()).toContain('not the session');
});
