import { z } from 'zod';
import { createAdapter, definePrompt, type Prompt, type ProviderAdapter } from '../../src/evaluate.ts';
import { defineTool, scriptedModel, type ToolContext } from '../../src/index.ts';

/** An agent that calls a `once` tool and then responds that it is done. */
export function uploader(execute: (context: ToolContext) => Promise<string>): {
  readonly adapter: ProviderAdapter;
  readonly prompt: Prompt<undefined>;
} {
  const upload = defineTool({
    name: 'upload',
    description: 'Uploads',
    input: z.object({}),
    effect: 'once',
    execute: (_, context) => execute(context),
  });
  const model = scriptedModel([{ toolCalls: [{ id: 'c1', name: 'upload', arguments: {} }] }, 'done']);
  return {
    adapter: createAdapter({ model }),
    prompt: definePrompt({ ns: 'test', key: 'uploader', instructions: 'Upload.', tools: [upload] }),
  };
}
