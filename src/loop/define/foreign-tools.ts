import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import type { ToolEffect } from '../../core/log/events.ts';
import type { MediaPart, TextPart } from '../../core/log/messages.ts';
import type { ProgressReport } from '../../core/log/progress.ts';
import type { AnyTool, ToolContext } from './define-tool.ts';
import { anything, type JsonSchema, toJsonSchema } from './json-schema.ts';
import { fromModelOutput, type ModelOutput } from './model-output.ts';
import { toolContent } from './tool-result.ts';

/** Tools that were written for others, accepted as they are: the AI SDK's `tool()` objects, and those of an MCP server. */

/** An AI SDK tool, by its shape: one of any input and output. */
export interface ForeignTool {
  readonly type?: string | undefined;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
  readonly needsApproval?: unknown;
  readonly id?: string | undefined;
  readonly args?: unknown;
  readonly isProviderExecuted?: boolean | undefined;
}

/** Whether a value is an AI SDK tool and not one of ours. */
export function isForeignTool(tool: unknown): tool is ForeignTool {
  return (
    typeof tool === 'object' && tool !== null && !('jsonSchema' in tool) && ('inputSchema' in tool || 'id' in tool)
  );
}

/**
 * One of our tools that runs an AI SDK tool. It declares no effect, so it is `once` (D18). A tool that a provider
 * defines is sent to that provider by its id, even if this process runs it.
 */
export function toTool(name: string, tool: ForeignTool): AnyTool {
  const { schema, jsonSchema } = foreignSchema(name, tool.inputSchema);
  const provider = tool.id === undefined ? undefined : { id: tool.id, args: (tool.args ?? {}) as JsonSchema };
  const base = {
    name,
    description: describe(tool.description),
    input: schema,
    jsonSchema,
    effect: 'once' as const,
    retries: 0,
    ...(provider && { provider }),
  };
  if (!tool.execute) {
    if (provider && tool.isProviderExecuted !== false) return { ...base, execute: () => refuseToRun(name) };
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `tool "${name}" has no execute; a tool that only a browser runs needs defineTool`,
    );
  }
  const { execute, toModelOutput, needsApproval } = tool as unknown as CallableTool;
  return {
    ...base,
    ...(needsApproval !== undefined && { needsApproval: approvalOf(tool, needsApproval) }),
    execute: async (input: unknown, context: ToolContext) => {
      const { callId: toolCallId, signal } = context;
      const options = { ...NO_CONTEXT, toolCallId, abortSignal: signal };
      const output = await last(await execute.call(tool, input, options), context);
      if (!toModelOutput) return output;
      return fromModelOutput(await toModelOutput.call(tool, { toolCallId, input, output }));
    },
  };
}

/** A foreign tool as we call it. Its `this` stays the tool. */
interface CallableTool {
  execute(input: unknown, options: unknown): unknown;
  toModelOutput?(options: unknown): ModelOutput | PromiseLike<ModelOutput>;
  readonly needsApproval?: boolean | ((input: unknown, options: unknown) => boolean | PromiseLike<boolean>);
}

/** What the AI SDK gives a tool beside its input and we have not got: the log is ours, not its messages. */
const NO_CONTEXT = { messages: [], context: undefined };

function approvalOf(
  tool: ForeignTool,
  needed: NonNullable<CallableTool['needsApproval']>,
): boolean | ((input: unknown) => Promise<boolean>) {
  if (typeof needed !== 'function') return needed;
  return async (input) => needed.call(tool, input, { ...NO_CONTEXT, toolCallId: '' });
}

/** A description is text, or a function of a context that we have not got. */
function describe(description: unknown): string {
  if (typeof description === 'string') return description;
  return typeof description === 'function' ? String(description({ context: undefined })) : '';
}

function refuseToRun(name: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', `tool "${name}" is run by the provider`);
}

/** A tool may yield preliminary results: each is reported as progress (D62), and the last one counts. */
async function last(result: unknown, context: ToolContext): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let value: unknown;
  for await (value of result as AsyncIterable<unknown>) context.progress({ data: value });
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
    if (typeof jsonSchema.then === 'function') {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `tool "${name}": its JSON Schema is a promise, and a prompt is made at once; await it first`,
      );
    }
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
    options?: { signal?: AbortSignal; timeout?: number; onprogress?: (progress: McpProgress) => void },
  ): Promise<unknown>;
}

/** A progress notification of an MCP server. */
interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined;
}

/**
 * The tools of an MCP server. Their effect is the server's hint, `once` without one, or what `effect` returns. A name that
 * providers reject is sent in characters that they accept.
 */
export async function mcpTools(
  client: McpClient,
  options: { readonly effect?: (name: string) => ToolEffect | undefined } = {},
): Promise<readonly AnyTool[]> {
  const tools = new Map<string, AnyTool>();
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of page.tools) {
      const name = takenName(tool.name, tools);
      tools.set(name, fromMcp(client, name, tool, options.effect?.(tool.name)));
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return [...tools.values()];
}

/** A server's name for a tool in the letters of `checkToolName`, and not one that is taken. */
function takenName(given: string, taken: ReadonlyMap<string, unknown>): string {
  const safe = given.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_');
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? '' : `_${n}`;
    const name = safe.slice(0, 64 - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
}

/** The longest that a timer can wait. The loop limits how long a call may take: a `once` call that timed out is unknown. */
const NEVER_MS = 2 ** 31 - 1;

function fromMcp(client: McpClient, name: string, tool: McpTool, effect: ToolEffect | undefined): AnyTool {
  const { readOnlyHint, idempotentHint } = tool.annotations ?? {};
  return {
    name,
    description: tool.description ?? '',
    input: anything,
    jsonSchema: tool.inputSchema,
    effect: effect ?? (readOnlyHint ? 'read' : idempotentHint ? 'idempotent' : 'once'),
    retries: 0,
    execute: async (input: Record<string, unknown>, context: ToolContext) => {
      const onprogress = (notified: McpProgress): void => context.progress(fromMcpProgress(notified));
      const options = { signal: context.signal, timeout: NEVER_MS, onprogress };
      return fromMcpResult(await client.callTool({ name: tool.name, arguments: input }, undefined, options));
    },
  };
}

/** A message is a line of text; the percentage needs a total. */
function fromMcpProgress({ progress, total, message }: McpProgress): ProgressReport {
  return {
    ...(message !== undefined && { text: `${message}\n` }),
    ...(total !== undefined && total > 0 && { percent: (progress / total) * 100 }),
    data: { progress, ...(total !== undefined && { total }) },
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fromMcpResult(result: unknown): unknown {
  const {
    content = [],
    isError = false,
    structuredContent,
  } = result as {
    readonly content?: readonly Fields[];
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
  };
  if (content.length > 0) return toolContent(content.map(fromMcpPart), { isError });
  const text = structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  return toolContent([{ type: 'text', text }], { isError });
}

function fromMcpPart(part: Fields): TextPart | MediaPart {
  if (part.type === 'text') return { type: 'text', text: String(part.text) };
  if ((part.type === 'image' || part.type === 'audio') && typeof part.data === 'string') {
    return { type: part.type === 'image' ? 'image' : 'file', mediaType: String(part.mimeType), data: part.data };
  }
  const { uri, mimeType, text, blob } = (part.type === 'resource' ? part.resource : {}) as Fields;
  if (typeof text === 'string') return { type: 'text', text };
  if (typeof blob !== 'string') return { type: 'text', text: JSON.stringify(part) };
  const mediaType = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  return { type, mediaType, data: blob, filename: String(uri) };
}
