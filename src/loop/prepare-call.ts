import { messageOf } from '../core/errors.ts';
import type { ToolCall } from '../core/messages.ts';
import type { Prompt } from './define-prompt.ts';
import type { AnyTool } from './define-tool.ts';
import { validate } from './json-schema.ts';

/** A call that may run. */
export interface Prepared {
  readonly ok: true;
  readonly tool: AnyTool;
  readonly input: unknown;
  /** Whether a person must approve it. A check that throws asks a person. */
  needsApproval(): Promise<boolean>;
}

/** A call that may run, or why it cannot: the model is told and goes on (D20). */
export type PreparedCall = Prepared | { readonly ok: false; readonly problem: string };

/** Finds a call's tool and reads its arguments. */
export async function prepareCall(
  prompt: Prompt<unknown>,
  call: Pick<ToolCall, 'name' | 'arguments'>,
): Promise<PreparedCall> {
  const tool = prompt.tools.find((candidate) => candidate.name === call.name);
  if (!tool) {
    const names = prompt.tools.map((candidate) => candidate.name).join(', ');
    return {
      ok: false,
      problem: `There is no tool "${call.name}". ${names ? `There are: ${names}.` : 'There are none.'}`,
    };
  }
  let value: unknown;
  try {
    value = JSON.parse(call.arguments.trim() === '' ? '{}' : call.arguments);
  } catch (error) {
    return { ok: false, problem: `The arguments of "${call.name}" are not JSON: ${messageOf(error)}` };
  }
  const checking = validate<unknown>(tool.input, value);
  const checked = checking instanceof Promise ? await checking : checking;
  if (!checked.ok)
    return { ok: false, problem: `The arguments of "${call.name}" do not fit its schema: ${checked.problem}` };
  return { ok: true, tool, input: checked.value, needsApproval: () => needsApproval(tool, checked.value) };
}

async function needsApproval(tool: AnyTool, input: unknown): Promise<boolean> {
  if (typeof tool.needsApproval !== 'function') return tool.needsApproval ?? false;
  try {
    return await tool.needsApproval(input);
  } catch {
    return true;
  }
}
