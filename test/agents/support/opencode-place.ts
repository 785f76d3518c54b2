/** A session whose prompts run with OpenCode against a scripted model. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { definePrompt } from '../../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../../src/loop/define/define-tool.ts';
import { type AgentScript, type ModelServer, startModelServer } from './model-server.ts';
import { temporaryDirectory } from './temporary.ts';

export const servers: ModelServer[] = [];

export interface Place {
  readonly server: ModelServer;
  readonly directory: string;
  readonly home: string;
  readonly cwd: string;
}

export async function place(scripts: Readonly<Record<string, AgentScript>>): Promise<Place> {
  const server = await startModelServer(scripts);
  servers.push(server);
  const directory = temporaryDirectory('opencode');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
  for (const path of [home, cwd]) mkdirSync(path);
  return { server, directory, home, cwd };
}

export const INPUT = '[[script:main]] go';

export const echo = defineTool({
  name: 'echo',
  description: 'Says a text again',
  input: z.object({ text: z.string() }),
  effect: 'idempotent',
  execute: ({ text }) => `echo ${text}`,
});

export const prompt = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo.', tools: [echo] });
