/** A main loop for tests: one process's, with its model's requests in reach. */
import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import {
  type AnyTool,
  createAdapter,
  definePrompt,
  MainLoop,
  type MainLoopOptions,
  type ModelRequest,
  type ScriptedTurn,
  scriptedModel,
} from '../../src/index.ts';
import { expectCoherent, listening } from './agent.ts';

export interface Request {
  readonly id: string;
  readonly topic: string;
}
export const request: Request = { id: 'r1', topic: 'birds' };

/** A loop whose model and tools are counted, as one process would have it. */
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
