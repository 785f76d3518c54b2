import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Prompt } from '../../../src/loop/define/define-prompt.ts';
import { definePrompt } from '../../../src/loop/define/define-prompt.ts';
import { type AnyTool, defineTool } from '../../../src/loop/define/define-tool.ts';

/** The work during which agents are killed: its tools write their effects to a file, so that repeated effects show. */

const EFFECTS = 'effects.log';
const RELEASE = 'release';

/** The effects of the tools so far. */
export function effectsIn(directory: string): readonly string[] {
  const path = join(directory, EFFECTS);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}

/** The file that releases a waiting tool. */
export function releasePath(directory: string): string {
  return join(directory, RELEASE);
}

/** Resolves when there is an effect. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** `note` is quick; `step` may be repeated and `pay` may not: both wait until they are released. */
export function workPrompt(directory: string): Prompt {
  const act = (what: string): void => appendFileSync(join(directory, EFFECTS), `${what}\n`);
  const released = (): Promise<void> => until(() => existsSync(releasePath(directory)));
  const input = z.object({ text: z.string() });
  return definePrompt({
    ns: 'work',
    key: 'job',
    instructions: 'You do the job.',
    tools: [
      defineTool({
        name: 'note',
        description: 'Notes a text',
        input,
        effect: 'once',
        execute: ({ text }) => {
          act(`note ${text}`);
          return `noted ${text}`;
        },
      }),
      defineTool({
        name: 'step',
        description: 'Makes a step',
        input,
        effect: 'idempotent',
        execute: async ({ text }, { isResume }) => {
          act(`step ${text}${isResume ? ' again' : ''}`);
          if (!isResume) await released();
          return `stepped ${text}`;
        },
      }),
      defineTool({
        name: 'pay',
        description: 'Pays',
        input,
        effect: 'once',
        execute: async ({ text }) => {
          act(`pay ${text}`);
          await released();
          return `paid ${text}`;
        },
      }),
    ],
  });
}

/** A tool that a person must approve. */
export const launch: AnyTool = defineTool({
  name: 'launch',
  description: 'Launches',
  input: z.object({}),
  needsApproval: true,
  execute: () => 'launched',
});
