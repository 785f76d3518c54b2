import { describeToolUse, type SubagentBlock, type SubagentState, type ToolUseBlock } from 'holdfast/conversation';
import { memo } from 'react';
import { count, duration } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Disclosure } from './disclosure.tsx';
import { Markdown } from './markdown.tsx';
import { useOpen } from './open-states.tsx';

/** A subagent where it was started. Opening it shows its blocks below, as rows of their own. */
export const Subagent = memo(
  (props: {
    readonly id: string;
    readonly block: SubagentBlock;
    readonly subagent: SubagentState | undefined;
    readonly call: ToolUseBlock | undefined;
  }) => {
    const { id, block, subagent, call } = props;
    const { isOpen, isStatic, setOpen } = useOpen(subagentKey(block.toolUseId), false);
    const status = subagent?.status ?? block.status;
    const isRunning = status === 'running' || status === 'pending';
    const blocks = subagent?.blocks.length ?? 0;
    const { name = 'Subagent', output, input } = block;
    const description = (call && describeToolUse(call).subject) ?? block.description;
    const hasBlocks = blocks > 0;
    return (
      <div>
        <button
          type="button"
          aria-expanded={isOpen}
          disabled={isStatic}
          onClick={() => setOpen(!isOpen)}
          className="-mx-1 flex w-[calc(100%+0.5rem)] min-w-0 items-center gap-2 rounded px-1 text-left hover:bg-panel"
        >
          <Icon name="agent" className={status === 'error' ? 'text-fails' : isRunning ? 'text-accent' : 'text-muted'} />
          <span className="shrink-0 font-medium">{name}</span>
          {description !== undefined && <span className="min-w-0 truncate text-muted">{description}</span>}
          <span className="ml-auto shrink-0 pl-2 text-xs text-muted tabular-nums">
            {[
              isRunning ? 'running' : status === 'error' ? 'failed' : '',
              blocks > 0 && count(blocks, 'block'),
              block.durationMs !== undefined && duration(block.durationMs),
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
          <Icon name="chevron" className={`size-3.5! text-muted ${isOpen ? 'rotate-90' : ''}`} />
        </button>
        {!hasBlocks && input !== undefined && input.trim() !== '' && input !== description && (
          <Disclosure id={`${id}:input`} className="pl-6" summary={<span className="text-muted">Prompt</span>}>
            {() => <Markdown id={`${id}:input`} text={input} />}
          </Disclosure>
        )}
        {(isStatic || !(isOpen && hasBlocks)) && output !== undefined && output.trim() !== '' && (
          <Disclosure id={`${id}:output`} className="pl-6" summary={<span className="text-muted">Result</span>}>
            {() => <Markdown id={`${id}:output`} text={output} />}
          </Disclosure>
        )}
      </div>
    );
  },
);

export function subagentKey(toolUseId: string): string {
  return `subagent:${toolUseId}`;
}
