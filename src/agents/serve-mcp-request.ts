import { mediaOf } from '../formats/media.ts';
import type { AnyTool } from '../loop/define/define-tool.ts';
import type { ToolOutcome } from '../loop/define/tool-result.ts';

/** Our tools in the Model Context Protocol: the few methods that an agent needs of a tool server. */

/** The name of the server that offers our tools. */
export const TOOL_SERVER = 'holdfast';

/** A message of the protocol. One without an id is a notification and gets no response. */
export interface McpMessage {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: unknown;
    readonly protocolVersion?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

/** Returns the response to one request. `call` runs the tool; an error that it throws becomes an error of the protocol. */
export async function serveMcpRequest(
  message: McpMessage,
  tools: readonly AnyTool[],
  call: (params: NonNullable<McpMessage['params']>) => Promise<ToolOutcome>,
): Promise<unknown> {
  const { id, method = '', params = {} } = message;
  const methods: Readonly<Record<string, () => unknown>> = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: TOOL_SERVER, version: '1' },
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools: tools.map(describe) }),
    'tools/call': async () => mcpResult(await call(params)),
  };
  const respond = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (!respond) return { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `no ${method}` } };
  try {
    return { jsonrpc: '2.0', id, result: await respond() };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: String(error) } };
  }
}

function describe({ name, description, jsonSchema, effect }: AnyTool): unknown {
  return {
    name,
    description,
    inputSchema: { type: 'object', ...jsonSchema },
    annotations: { readOnlyHint: effect === 'read', idempotentHint: effect !== 'once' },
    _meta: { 'anthropic/alwaysLoad': true }, // Claude Code would else hide them behind a tool search
  };
}

function mcpResult({ content, isError }: ToolOutcome): unknown {
  return {
    isError,
    content: content.map((part) => {
      if (part.type === 'text') return part;
      const media = mediaOf(part);
      if (part.type === 'image' && media.kind === 'data') {
        return { type: 'image', data: media.base64, mimeType: media.mediaType };
      }
      const uri = media.kind === 'url' ? media.url : `file:///${part.filename ?? 'file'}`;
      const blob = media.kind === 'data' ? { blob: media.base64 } : { text: media.url };
      return { type: 'resource', resource: { uri, mimeType: media.mediaType, ...blob } };
    }),
  };
}
