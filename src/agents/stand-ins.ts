import type { ToolEffect } from '../core/log/events.ts';
import type { Prompt } from '../loop/define/define-prompt.ts';
import { anything } from '../loop/define/json-schema.ts';
import { toolContent } from '../loop/define/tool-result.ts';

/** The result of a call of the agent's own that may be made again. */
export const CALL_AGAIN: string =
  'The session was interrupted and this call did not take effect. Call the tool again if you still need it.';

/**
 * The prompt with a stand-in for each of the agent's own tools that a call was left open for. Only the agent can run the tool, so
 * what may run again is given back to the model to call again; what may have happened waits for a person, like every `once` tool.
 */
export function withStandIns(
  prompt: Prompt<unknown>,
  names: Iterable<string>,
  tools: {
    readonly effect: (name: string) => ToolEffect;
    readonly tell: (call: { readonly name: string; readonly callId: string }) => string;
  },
): Prompt<unknown> {
  const own = new Set(prompt.tools.map((tool) => tool.name));
  const standIns = [...new Set(names)]
    .filter((name) => !own.has(name))
    .map((name) => ({
      name,
      description: '',
      input: anything,
      jsonSchema: {},
      effect: tools.effect(name),
      retries: 0,
      execute: (_input: unknown, { callId }: { readonly callId: string }) =>
        toolContent([{ type: 'text', text: tools.tell({ name, callId }) }], { isError: true }),
    }));
  return { ...prompt, tools: [...prompt.tools, ...standIns] };
}
