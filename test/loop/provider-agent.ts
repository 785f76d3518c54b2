/** An agent with a real provider client: reasoning, two turns of parallel calls, and crash points. */
import { z } from 'zod';
import { definePrompt, type Prompt } from '../../src/evaluate.ts';
import { type AnyTool, defineTool, type ToolContext } from '../../src/index.ts';
import type { ServerRequest, ServerTurn } from '../support/provider-server/server-turn.ts';

/** Where a process can be killed between request and response. */
export const CRASHES = [
  'before the request',
  'in mid-stream',
  'after the answer',
  'in a tool',
  'between results',
] as const;
export type Crash = (typeof CRASHES)[number];

/** Two turns of calls with reasoning, and a response. */
export function script({ turn }: Pick<ServerRequest, 'turn'>): ServerTurn {
  const toolCalls = [
    { name: 'read', arguments: { path: `a${turn}` } },
    { name: 'write', arguments: { path: `b${turn}` } },
  ];
  return turn <= 2
    ? { reasoning: `thought ${turn}`, text: `I will look at ${turn} of them`, toolCalls }
    : { reasoning: 'That was all.', text: 'All of them are fine.' };
}

/** `before` is called when a tool has started, and may never return. */
export function promptWith(before: (name: string, context: ToolContext) => Promise<void> | void): Prompt {
  const make = (name: string, effect: AnyTool['effect']): AnyTool =>
    defineTool({
      name,
      description: `${name} a file`,
      input: z.object({ path: z.string() }),
      effect,
      async execute({ path }, context) {
        await before(name, context);
        return `${name} ${path}`;
      },
    });
  const tools = [make('read', 'read'), make('write', 'idempotent')];
  return definePrompt({ ns: 'test', key: 'files', instructions: 'Look after the files.', tools });
}

/** The turn of the crash: the second, when there are results to send. */
export const CRASH_TURN = 2;
