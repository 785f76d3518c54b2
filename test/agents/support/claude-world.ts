/** A session whose prompts run with the Claude Agent SDK against a scripted model. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  CLAUDE_AGENT,
  type ClaudeAgentOptions,
  type ClaudeAgentState,
  claudeAgentAdapter,
} from '../../../src/claude-agent.ts';
import { adapterStates } from '../../../src/core/views/session-view.ts';
import type { StatefulAdapter } from '../../../src/evaluate.ts';
import { definePrompt } from '../../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../../src/loop/define/define-tool.ts';
import type { Store } from '../../../src/ports/store.ts';
import { openSession, type Session } from '../../../src/session/session.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { claudeOptions } from './claude.ts';
import { type AgentScript, type ModelServer, startModelServer } from './model-server.ts';
import { temporaryDirectory } from './temporary.ts';

export const servers: ModelServer[] = [];

export const call = (name: string, input: unknown, id: string): { name: string; arguments: unknown; id: string } => ({
  name,
  arguments: input,
  id,
});

export const echoCall = (text: string): ReturnType<typeof call> =>
  call('mcp__holdfast__echo', { text }, `toolu_${text}`);

export const ran: string[] = [];

export const echo = defineTool({
  name: 'echo',
  description: 'Says a text again',
  input: z.object({ text: z.string() }),
  effect: 'idempotent',
  execute: ({ text }) => {
    ran.push(text);
    return `echo ${text}`;
  },
});

export const prompt = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo.', tools: [echo] });

export interface World {
  readonly server: ModelServer;
  readonly store: Store;
  readonly session: Session;
  readonly home: string;
  readonly cwd: string;
  adapter(options?: ClaudeAgentOptions): StatefulAdapter;
}

export async function world(scripts: Readonly<Record<string, AgentScript>>): Promise<World> {
  ran.length = 0;
  const server = await startModelServer(scripts);
  servers.push(server);
  const directory = temporaryDirectory('agent');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
  for (const path of [home, cwd]) mkdirSync(path);
  const store = memoryStore();
  const session = await openSession({ store, id: 'one' });
  return {
    server,
    store,
    session,
    home,
    cwd,
    adapter: (options = {}) => claudeAgentAdapter({ ...claudeOptions({ url: server.url, home, cwd }), ...options }),
  };
}

/** Two turns: tools, then a response. A turn limit of 1 suspends it between them. */
export const twoTurns: AgentScript = ({ turn }) =>
  turn === 1 ? { text: 'I will.', toolCalls: [echoCall('a'), echoCall('b')] } : `done ${turn}`;

export const INPUT = '[[script:main]] go';

export const stateIn = (session: Session): ClaudeAgentState => {
  const snapshot = session
    .select(adapterStates)
    .where((one) => one.state.adapterType === CLAUDE_AGENT)
    .at(-1);
  return snapshot?.state as ClaudeAgentState;
};
