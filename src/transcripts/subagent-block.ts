import type { SubagentBlock } from '../conversation/blocks.ts';

/** A subagent's block with its fields in the reducer's order and none undefined. */
export function makeSubagentBlock(
  fields: { readonly [K in keyof SubagentBlock]?: SubagentBlock[K] | undefined } & {
    readonly toolUseId: string;
    readonly conversationId: string;
    readonly timestamp: string;
    readonly status: SubagentBlock['status'];
  },
): SubagentBlock {
  const { conversationId, timestamp, status, message, toolUseId, durationMs } = fields;
  return {
    id: `subagent:${toolUseId}`,
    type: 'subagent',
    conversationId,
    timestamp,
    status,
    ...(message && { message }),
    toolUseId,
    ...textField('agentId', fields.agentId),
    ...textField('name', fields.name),
    ...textField('description', fields.description),
    ...textField('input', fields.input),
    ...textField('output', fields.output),
    ...(durationMs !== undefined && { durationMs }),
  };
}

/** An object with one text field; empty when the text is undefined. */
export function textField<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: string };
}
