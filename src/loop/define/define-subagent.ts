import type { StandardSchemaV1 } from '@standard-schema/spec';
import { bindTemplate } from '../../core/log/prompt-identity.ts';
import type { ChildOptions } from '../evaluate/provider-adapter.ts';
import type { Prompt } from './define-prompt.ts';
import { defineTool, type Tool, type ToolDefinition } from './define-tool.ts';
import { anything, type JsonSchema } from './json-schema.ts';

/** What `defineSubagent` takes. */
export interface SubagentDefinition<Output, Schema extends StandardSchemaV1>
  extends Pick<ToolDefinition<Schema, unknown>, 'name' | 'description' | 'needsApproval' | 'timeoutMs'> {
  /** What the subagent runs. */
  readonly prompt: Prompt<Output>;
  /** What the model passes to it, as any Standard Schema; one text unless given. */
  readonly input?: Schema;
  /** For schema libraries that do not convert themselves. */
  readonly jsonSchema?: JsonSchema;
  /** Options of every child conversation. */
  readonly options?: Omit<ChildOptions, 'input' | 'params' | 'key'>;
}

const ONE_TEXT: JsonSchema = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The task, with everything that is needed to do it' } },
  required: ['input'],
};

/**
 * Defines a tool that runs a prompt as a child conversation and returns its output, or its text without an output schema.
 * Fields of the arguments that the instructions name as `{{field}}` are bound there; the others are the child's message: a
 * single text as it is, anything else as JSON. The tool is `idempotent`: finished children return their recorded response.
 */
export function defineSubagent<Output, Schema extends StandardSchemaV1 = StandardSchemaV1<unknown, unknown>>(
  definition: SubagentDefinition<Output, Schema>,
): Tool<StandardSchemaV1.InferOutput<Schema>, Output | string> {
  const { prompt, input, jsonSchema, options, ...rest } = definition;
  return defineTool<Schema, Output | string>({
    ...rest,
    input: input ?? (anything as unknown as Schema),
    ...((jsonSchema ?? !input) && { jsonSchema: jsonSchema ?? ONE_TEXT }),
    effect: 'idempotent',
    execute: async (given, context) => {
      const response = await context.evaluate(prompt, { ...options, ...requestOf(prompt, given) });
      return prompt.output ? (response.output as Output) : response.text;
    },
  });
}

function requestOf(prompt: Prompt<unknown>, given: unknown): Pick<ChildOptions, 'input' | 'params'> {
  if (typeof given !== 'object' || given === null) return given === undefined ? {} : { input: textOf(given) };
  const { missing: names } = bindTemplate(prompt.instructions, {});
  const fields = Object.entries(given);
  const params = fields.filter(([name]) => names.includes(name));
  const others = fields.filter(([name, value]) => !names.includes(name) && value !== undefined);
  const only = others.length === 1 ? others[0]?.[1] : undefined;
  return {
    ...(params.length > 0 && { params: Object.fromEntries(params) }),
    ...(others.length > 0 && { input: textOf(typeof only === 'string' ? only : Object.fromEntries(others)) }),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
