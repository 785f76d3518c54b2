/**
 * What `codex exec --json` leaves out of a run that its rollout holds. Each exemption removes it from both sides, and is recognised by the
 * type or a field of a line or block, never by an id. `docs/parity.md` explains them; the test fails when one of them is not needed.
 */
import { asObject, type Json, parseJson } from '../../src/transcripts/json-access.ts';
import type { Line, PlainBlock, PlainState } from './fixtures.ts';

export interface CodexExemption {
  readonly name: string;
  /** Lines that are removed from rollouts. */
  readonly line?: (line: Line, rollout: readonly Line[]) => boolean;
  /** A block with what both sides have in common; `undefined` when the stream has no such block. */
  readonly block?: (block: PlainBlock, call: PlainBlock | undefined) => PlainBlock | undefined;
  /** All blocks of a conversation. */
  readonly blocks?: (blocks: readonly PlainBlock[]) => readonly PlainBlock[];
  /** A subagent with what both sides have in common. */
  readonly subagent?: (subagent: PlainState['subagents'][number]) => PlainState['subagents'][number];
}

const payloadOf = (line: Line): Json => asObject(line.payload) ?? {};
const itemOf = (line: Line): Json => asObject(payloadOf(line).item) ?? {};
/** Tools that leave no item in a rollout. A plan is in the stream all the same. */
const WITHOUT_ITEM = new Set<unknown>(['update_plan', 'exec']);
const AGENT_TOOLS = new Set<unknown>(['wait_agent', 'close_agent']);

/** What a rollout says about the call that a line is about. */
interface Call {
  readonly name: unknown;
  /** The types of its items. */
  readonly items: readonly unknown[];
  readonly isReturned: boolean;
}

function callOf(line: Line, rollout: readonly Line[]): Call | undefined {
  const id = payloadOf(line).call_id ?? itemOf(line).id;
  const about = rollout.filter(
    (other) => id !== undefined && [payloadOf(other).call_id, itemOf(other).id].includes(id),
  );
  const call = about.map(payloadOf).find(({ arguments: args, input }) => args !== undefined || input !== undefined);
  return (
    call && {
      name: call.name,
      items: about.flatMap((other) => itemOf(other).type ?? []),
      isReturned: about.some((other) => payloadOf(other).output !== undefined),
    }
  );
}

const without = <K extends string>(block: PlainBlock, ...fields: readonly K[]): PlainBlock =>
  Object.fromEntries(Object.entries(block).filter(([key]) => !fields.includes(key as K))) as unknown as PlainBlock;

export const CODEX_EXEMPTIONS: readonly CodexExemption[] = [
  {
    name: 'messages of the user and the developer',
    line: (line) =>
      payloadOf(line).role === 'user' ||
      payloadOf(line).role === 'developer' ||
      payloadOf(line).type === 'user_message' ||
      itemOf(line).type === 'UserMessage',
  },
  {
    name: 'compactions',
    line: (line) =>
      line.type === 'compacted' ||
      asObject(line.metadata)?.compaction_output === true ||
      itemOf(line).type === 'ContextCompaction',
  },
  { name: 'the call of a script', line: (line, rollout) => callOf(line, rollout)?.name === 'exec' },
  { name: 'view_image', line: (line, rollout) => callOf(line, rollout)?.items.includes('ImageView') === true },
  {
    name: 'refused calls',
    line: (line, rollout) => {
      const call = rollout.some(({ ordinal }) => ordinal !== undefined) ? callOf(line, rollout) : undefined;
      return call?.isReturned === true && call.items.length === 0 && !WITHOUT_ITEM.has(call.name);
    },
  },
  {
    name: 'order of parallel calls',
    blocks: (blocks) =>
      blocks.flatMap((block) => {
        if (block.type === 'tool_result') return [];
        return [
          block,
          ...blocks.filter(({ type, toolUseId }) => type === 'tool_result' && toolUseId === block.toolUseId),
        ];
      }),
  },
  { name: 'timestamp', block: (block) => without(block, 'timestamp') },
  { name: 'message', block: (block) => without(block, 'message') },
  {
    name: 'arguments of calls',
    block: (block) => {
      const input = asObject(block.input) ?? {};
      const command = input.cmd ?? input.command;
      if (block.toolName === 'web_search' || block.type !== 'tool_use') return block;
      const plan = Array.isArray(input.plan) ? input.plan.map((step) => asObject(step)?.step) : undefined;
      const common = command ?? plan ?? (String(block.toolName).startsWith('mcp__') ? block.input : undefined);
      return { ...without(block, 'input'), common };
    },
  },
  {
    name: 'name of the shell tool',
    block: (block) => (block.toolName === 'shell_command' ? { ...block, toolName: 'exec_command' } : block),
  },
  {
    name: 'frame of outputs',
    block: (block) => (block.type === 'tool_result' ? { ...block, output: unframed(String(block.output)) } : block),
  },
  {
    name: 'outputs of patches and of tools for agents',
    block: (block, call) =>
      block.type === 'tool_result' && (call?.toolName === 'apply_patch' || AGENT_TOOLS.has(call?.toolName))
        ? without(block, 'output')
        : block,
  },
  {
    name: 'threads and nicknames of subagents',
    block: (block) => (block.type === 'subagent' ? without(block, 'description', 'durationMs') : block),
    subagent: (subagent) => {
      const { description: _, durationMs: __, ...rest } = subagent;
      return { ...rest, toolUseId: subagent.toolUseId, blocks: [] };
    },
  },
  {
    name: 'ids',
    blocks: (blocks) => blocks.map((block) => without(block, 'id', 'toolUseId')),
    subagent: (subagent) => ({ ...subagent, toolUseId: '' }),
  },
];

/** An output without the lines that Codex puts before it for the model. */
function unframed(output: string): string {
  const content = asObject(parseJson(output))?.output;
  if (typeof content === 'string') return content;
  const list = output.startsWith('[') ? parseJson(output) : undefined;
  if (Array.isArray(list)) return list.map((part) => asObject(part)?.text).join('\n');
  return /^(?:Chunk ID|Wall time|Exit code)/.test(output)
    ? output.slice(output.indexOf('Output:') + 'Output:'.length + 1)
    : output;
}

/** The lines of a rollout without the exempt ones. */
export function withoutExemptLines(lines: readonly Line[], exemptions: readonly CodexExemption[]): Line[] {
  return lines.filter((line) => !exemptions.some((exemption) => exemption.line?.(line, lines)));
}

/** The state without what is exempt, as text. */
export function comparable(state: PlainState, exemptions: readonly CodexExemption[]): string {
  const strip = (blocks: readonly PlainBlock[]): readonly PlainBlock[] => {
    const calls = new Map(
      blocks.flatMap((block) => (block.type === 'tool_use' ? [[block.toolUseId, block] as const] : [])),
    );
    return exemptions.reduce((kept, { block: change, blocks: arrange }) => {
      const changed = change ? kept.flatMap((block) => change(block, calls.get(block.toolUseId)) ?? []) : kept;
      return arrange ? arrange(changed) : changed;
    }, blocks);
  };
  const subagents = state.subagents.map((subagent) =>
    exemptions.reduce((kept, { subagent: change }) => change?.(kept) ?? kept, subagent),
  );
  return JSON.stringify({ blocks: strip(state.blocks), subagents }, null, 1);
}
