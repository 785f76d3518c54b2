import { randomUUID } from 'node:crypto';
import type { AnyTool } from '../../loop/define/define-tool.ts';
import type { ToolOutcome } from '../../loop/define/tool-result.ts';
import { type McpMessage, serveMcpRequest, TOOL_SERVER } from '../serve-mcp-request.ts';

/** Our tools as an MCP server in this process: the SDK hands it the model's calls, with the id of each in the call's metadata. */

interface Transport {
  onmessage?: (message: McpMessage) => void;
  start?(): Promise<void>;
  send(message: unknown): Promise<void>;
}

/** The field in which the SDK names the tool use of a call. */
const TOOL_USE_ID = 'claudecode/toolUseId';

/** What the SDK's `mcpServers` option takes. */
export interface ToolServer {
  readonly type: 'sdk';
  readonly name: string;
  readonly alwaysLoad: true;
  readonly instance: { connect(transport: Transport): Promise<void>; close(): Promise<void> };
}

/** Offers tools. `call` is given the tool use's id and runs it. */
export function toolServer(tools: readonly AnyTool[], call: (callId: string) => Promise<ToolOutcome>): ToolServer {
  return {
    type: 'sdk',
    name: TOOL_SERVER,
    alwaysLoad: true,
    instance: {
      async connect(transport) {
        transport.onmessage = (message) => {
          if (message.id === undefined) return;
          serveMcpRequest(message, tools, ({ _meta }) => call(String(_meta?.[TOOL_USE_ID] ?? randomUUID())))
            .then((reply) => transport.send(reply))
            .catch(() => {}); // the agent has ended; its run reports why
        };
        await transport.start?.();
      },
      close: async () => {},
    },
  };
}
