/** A main loop for tests: of one process, with access to its model's requests. */
import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import { createAdapter, definePrompt, MainLoop, type MainLoopOptions } from '../../src/evaluate.ts';
import { type AnyTool, type ModelRequest, type ScriptedTurn, scriptedModel } from '../../src/index.ts';
import { expectCoherent, listening } from './agent.ts';

export interface Request {
  readonly id: string;
  readonly topic: string;
}
export const request: Request = { id: 'r1', topic: 'birds' };

/** A loop that counts the uses of its model and tools, for one process. */
export function loopWith(
  options: {
    readonly script?: readonly ScriptedTurn[];
    readonly tools?: readonly AnyTool[];
    readonly instructions?: string;
    readonly output?: z.ZodType;
  } & Partial<MainLoopOptions<Request, unknown>>,
): { readonly loop: MainLoop<Request, unknown>; readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const { script = ['ok'], tools = [], instructions = 'Study {{topic}}.', output, ...rest } = options;
  const adapter = createAdapter({ model: listening(scriptedModel(script), requests) });
  const prompt = definePrompt({ ns: 'test', key: 'study', instructions, tools, ...(output && { output }) });
  const loop = new MainLoop<Request, unknown>({
    adapter,
    prepare: ({ topic }) => ({ prompt, input: `About ${topic}`, params: { topic } }),
    ...rest,
  });
  onTestFinished(() => expectCoherent(requests));
  return { loop, requests };
}
