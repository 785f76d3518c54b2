import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../core/errors.ts';
import type { ToolEffect } from '../core/events.ts';
import type { MediaPart, TextPart } from '../core/messages.ts';
import { type AnyTool, checkToolName, type ToolContext } from './define-tool.ts';
import { anything, type JsonSchema, toJsonSchema } from './json-schema.ts';
import { toolContent } from './tool-result.ts';

/** Tools that were written for others, accepted as they are: the AI SDK's `tool()` objects, and those of an MCP server. */

/** An AI SDK tool, by its shape. */
export interface ForeignTool {
  readonly type?: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  // A method, so that tools of any input are accepted.
  execute?(input: never, options: never): unknown;
  readonly needsApproval?: unknown;
  readonly id?: string;
  readonly args?: unknown;
}

/** Whether a value is an AI SDK tool and not one of ours. */
export function isForeignTool(tool: unknown): tool is ForeignTool {
  return (
    typeof tool === 'object' && tool !== null && !('jsonSchema' in tool) && ('inputSchema' in tool || 'id' in tool)
  );
}

/** One of our tools that runs an AI SDK tool. It says nothing about its effect, so it is `once` (D18). */
export function toTool(name: string, tool: ForeignTool): AnyTool {
  const { schema, jsonSchema } = foreignSchema(name, tool.inputSchema);
  const { execute } = tool;
  const base = {
    name,
    description: typeof tool.description === 'string' ? tool.description : '',
    input: schema,
    jsonSchema,
    effect: 'once' as const,
    retries: 0,
  };
  if (tool.id !== undefined && !execute) {
    const args = (tool.args ?? {}) as Readonly<Record<string, unknown>>;
    return { ...base, provider: { id: tool.id, args }, execute: () => refuseToRun(name) };
  }
  if (!execute) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `tool "${name}" has no execute; a tool that only a browser runs needs defineTool`,
    );
  }
  return {
    ...base,
    ...(tool.needsApproval !== undefined && { needsApproval: tool.needsApproval as boolean }),
    execute: async (input: unknown, context: ToolContext) => {
      const options = { toolCallId: context.callId, abortSignal: context.signal, messages: [], context: undefined };
      return last(await (execute as (input: unknown, options: unknown) => unknown).call(tool, input, options));
    },
  };
}

function refuseToRun(name: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', `tool "${name}" is run by the provider`);
}

/** A tool may yield preliminary results; the last one counts. */
async function last(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let value: unknown;
  for await (value of result as AsyncIterable<unknown>);
  return value;
}

/** An AI SDK schema is a Standard Schema, a function that gives one, or `jsonSchema(…)` with its own `validate`. */
function foreignSchema(
  name: string,
  given: unknown,
): { readonly schema: StandardSchemaV1; readonly jsonSchema: JsonSchema } {
  const schema: unknown = typeof given === 'function' && !('~standard' in given) ? given() : given;
  if (typeof schema === 'object' && schema !== null && 'jsonSchema' in schema && !('~standard' in schema)) {
    const { jsonSchema, validate } = schema as {
      readonly jsonSchema: JsonSchema;
      readonly validate?: (value: unknown) => unknown;
    };
    return { jsonSchema, schema: validate ? wrapValidator(validate) : anything };
  }
  if ((typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema) {
    const standard = schema as StandardSchemaV1;
    return { schema: standard, jsonSchema: toJsonSchema(standard, undefined, `tool "${name}"`) };
  }
  return { schema: anything, jsonSchema: { type: 'object' } };
}

function wrapValidator(check: (value: unknown) => unknown): StandardSchemaV1 {
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      async validate(value) {
        const result = (await check(value)) as {
          readonly success: boolean;
          readonly value?: unknown;
          readonly error?: Error;
        };
        return result.success ? { value: result.value } : { issues: [{ message: result.error?.message ?? 'invalid' }] };
      },
    },
  };
}

/** An MCP client, by its shape: that of `@modelcontextprotocol/sdk`. */
export interface McpClient {
  listTools(params?: {
    cursor?: string;
  }): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | undefined }>;
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    schema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
}

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined;
}

/** The tools of an MCP server. Their effect is what the server hints at, `once` where it says nothing, or what `effect` says. */
export async function mcpTools(
  client: McpClient,
  options: { readonly effect?: (name: string) => ToolEffect | undefined } = {},
): Promise<readonly AnyTool[]> {
  const tools: AnyTool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of page.tools) tools.push(fromMcp(client, tool, options.effect?.(tool.name)));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

function fromMcp(client: McpClient, tool: McpTool, effect: ToolEffect | undefined): AnyTool {
  checkToolName(tool.name);
  const { readOnlyHint, idempotentHint } = tool.annotations ?? {};
  return {
    name: tool.name,
    description: tool.description ?? '',
    input: anything,
    jsonSchema: tool.inputSchema,
    effect: effect ?? (readOnlyHint ? 'read' : idempotentHint ? 'idempotent' : 'once'),
    retries: 0,
    execute: async (input: Record<string, unknown>, { signal }: ToolContext) =>
      fromMcpResult(await client.callTool({ name: tool.name, arguments: input }, undefined, { signal })),
  };
}

function fromMcpResult(result: unknown): unknown {
  const {
    content = [],
    isError = false,
    structuredContent,
  } = result as {
    readonly content?: readonly Readonly<Record<string, unknown>>[];
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
  };
  if (content.length === 0 && structuredContent !== undefined) return structuredContent;
  return toolContent(content.map(fromMcpPart), { isError });
}

function fromMcpPart(part: Readonly<Record<string, unknown>>): TextPart | MediaPart {
  if (part.type === 'text') return { type: 'text', text: String(part.text) };
  if ((part.type === 'image' || part.type === 'audio') && typeof part.data === 'string') {
    return { type: part.type === 'image' ? 'image' : 'file', mediaType: String(part.mimeType), data: part.data };
  }
  return { type: 'text', text: JSON.stringify(part) };
}
