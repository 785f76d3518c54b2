/**
 * What the Claude Agent SDK writes to disk but omits from its stream. Each exemption names the type or a field of a line, never an id.
 * `docs/parity.md` explains them; the test fails when one of them is not needed. OpenCode needs none.
 */
import { contentBlocks } from '../../src/transcripts/claude/content.ts';
import { asObject } from '../../src/transcripts/json-access.ts';
import type { Line, PlainBlock, PlainState } from './fixtures.ts';

export interface Exemption {
  readonly name: string;
  /** Lines that are removed on both sides. */
  readonly line?: (line: Line) => boolean;
  /** Fields of blocks that are removed on both sides. */
  readonly block?: (block: PlainBlock, conversationId: string) => PlainBlock;
}

export const EXEMPTIONS: readonly Exemption[] = [
  {
    name: 'user lines of text',
    line: (line) => {
      const blocks = contentBlocks(asObject(line.message)?.content);
      const isNotification = asObject(line.origin)?.kind === 'task-notification';
      return line.type === 'user' && !isNotification && blocks.every((block) => block.type === 'text');
    },
  },
  { name: 'model: "<synthetic>"', line: (line) => asObject(line.message)?.model === '<synthetic>' },
  { name: 'toolDenialKind', line: (line) => line.toolDenialKind !== undefined },
  {
    name: 'message.usage of subagents',
    block: (block, conversationId) => {
      const { usage, ...message } = (block.message ?? {}) as Record<string, unknown>;
      return conversationId === 'main' || usage === undefined ? block : { ...block, message };
    },
  },
  {
    name: 'timestamp of streamed blocks',
    block: ({ timestamp, ...block }, conversationId) =>
      conversationId === 'main' && block.message !== undefined && block.type !== 'subagent'
        ? (block as PlainBlock)
        : { timestamp, ...(block as PlainBlock) },
  },
];

/** The lines without the exempt ones. */
export function withoutExemptLines(lines: readonly Line[], exemptions: readonly Exemption[]): Line[] {
  return lines.filter((line) => !exemptions.some((exemption) => exemption.line?.(line)));
}

/** The state without the exempt fields, as text. */
export function comparable(state: PlainState, exemptions: readonly Exemption[]): string {
  const strip = (conversationId: string) => (block: PlainBlock) =>
    exemptions.reduce((stripped, exemption) => exemption.block?.(stripped, conversationId) ?? stripped, block);
  const blocks = state.blocks.map(strip('main'));
  const subagents = state.subagents.map((thread) => ({
    ...thread,
    blocks: thread.blocks.map(strip(thread.toolUseId)),
  }));
  return JSON.stringify({ blocks, subagents }, null, 1);
}
