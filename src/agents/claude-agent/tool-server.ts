import { randomUUID } from 'node:crypto';
import type { AnyTool } from '../../loop/define-tool.ts';
import type { ToolOutcome } from '../../loop/tool-result.ts';
import { mediaOf } from '../../models/media.ts';
import { TOOL_SERVER } from './built-in-tools.ts';

/** Our tools as an MCP server in this process: the SDK hands it the model's calls, with the id of each in the call's metadata. */

interface JsonRpc {
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

interface Transport {
  onmessage?: (message: JsonRpc) => void;
  start?(): Promise<void>;
  send(message: unknown): Promise<void>;
}

/** Where the SDK says which tool use a call belongs to. */
const TOOL_USE_ID = 'claudecode/toolUseId';
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

/** What the SDK's `mcpServers` option takes. */
export interface ToolServer {
  readonly type: 'sdk';
  readonly name: string;
  readonly alwaysLoad: true;
  readonly instance: { connect(transport: Transport): Promise<void>; close(): Promise<void> };
}

/** Offers tools. `call` is given the tool use's id and runs it; what it throws is told to the SDK as a protocol error. */
export function toolServer(tools: readonly AnyTool[], call: (callId: string) => Promise<ToolOutcome>): ToolServer {
  const answer = async ({ method, params }: JsonRpc): Promise<unknown> => {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: TOOL_SERVER, version: '1' },
        };
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: tools.map(describe) };
      case 'tools/call':
        return mcpResult(await call(String(params?._meta?.[TOOL_USE_ID] ?? randomUUID())));
      default:
        return undefined;
    }
  };
  return {
    type: 'sdk',
    name: TOOL_SERVER,
    alwaysLoad: true, // else they hide behind a tool search
    instance: {
      async connect(transport) {
        transport.onmessage = (message) => {
          const { id } = message;
          if (id === undefined) return; // a notification
          answer(message)
            .then(
              (result) =>
                result === undefined
                  ? { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `no ${message.method}` } }
                  : { jsonrpc: '2.0', id, result },
              (error: unknown) => ({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: String(error) } }),
            )
            .then((reply) => transport.send(reply))
            .catch(() => {}); // the agent is gone; its run says why
        };
        await transport.start?.();
      },
      close: async () => {},
    },
  };
}

function describe({ name, description, jsonSchema, effect }: AnyTool): unknown {
  return {
    name,
    description,
    inputSchema: { type: 'object', ...jsonSchema },
    annotations: { readOnlyHint: effect === 'read', idempotentHint: effect !== 'once' },
    _meta: { 'anthropic/alwaysLoad': true },
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
