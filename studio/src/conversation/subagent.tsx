import {
  describeToolUse,
  type SubagentBlock,
  type SubagentState,
  type ToolResultBlock,
  type ToolUseBlock,
} from 'holdfast/conversation';
import { memo, type ReactNode } from 'react';
import { count, duration } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Disclosure } from './disclosure.tsx';
import { useOpen } from './rows/open-states.tsx';
import { Markdown } from './text/markdown.tsx';

interface Props {
  readonly id: string;
  readonly block: SubagentBlock;
  readonly subagent: SubagentState | undefined;
  readonly call: ToolUseBlock | undefined;
  /** The result of the call, if the subagent's block has none. */
  readonly result: ToolResultBlock | undefined;
  /** In a static file: its rows. */
  readonly children: ReactNode;
}

/** A subagent where it was started. Opening it shows its blocks below, as rows of their own; in a static file they are inside. */
export const Subagent = memo((props: Props) => {
  const { id, block, subagent, result, children } = props;
  const { isOpen, isStatic, setOpen } = useOpen(subagentKey(block.toolUseId), false);
  const { input = '', output = result?.output ?? '' } = block;
  const hasBlocks = (subagent?.blocks.length ?? 0) > 0;
  const prompt = !hasText(subagent, input) && input !== descriptionOf(props) && (
    <Folded id={`${id}:input`} name="Prompt" text={input} />
  );
  if (isStatic) {
    return (
      <Disclosure id={id} summary={<Heading {...props} />}>
        {() => (
          <>
            {prompt}
            {children}
            {!hasText(subagent, output) && <Folded id={`${id}:output`} name="Result" text={output} />}
          </>
        )}
      </Disclosure>
    );
  }
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="-mx-1 flex w-[calc(100%+0.5rem)] min-w-0 items-center gap-2 rounded px-1 text-left hover:bg-panel"
      >
        <Heading {...props} />
        <Icon name="chevron" className={`size-3.5! text-muted ${isOpen ? 'rotate-90' : ''}`} />
      </button>
      {!hasBlocks && prompt}
      {!(isOpen && hasBlocks) && <Folded id={`${id}:output`} name="Result" text={output} />}
    </div>
  );
});

function Heading(props: Props) {
  const { block, subagent } = props;
  const status = subagent?.status ?? block.status;
  const isRunning = status === 'running' || status === 'pending';
  const blocks = subagent?.blocks.length ?? 0;
  const description = descriptionOf(props);
  return (
    <>
      <Icon name="agent" className={status === 'error' ? 'text-fails' : isRunning ? 'text-accent' : 'text-muted'} />
      <span className="shrink-0 font-medium">{block.name ?? 'Subagent'}</span>
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
    </>
  );
}

function Folded({ id, name, text }: { readonly id: string; readonly name: string; readonly text: string }) {
  if (text.trim() === '') return null;
  return (
    <Disclosure id={id} className="pl-6" summary={<span className="text-muted">{name}</span>}>
      {() => <Markdown id={id} text={text} />}
    </Disclosure>
  );
}

function descriptionOf({ block, call }: Props): string | undefined {
  return (call && describeToolUse(call).subject) ?? block.description;
}

/** Whether the first or the last block of a subagent is this text: its prompt and its result usually are. */
function hasText(subagent: SubagentState | undefined, text: string): boolean {
  return [subagent?.blocks.at(0), subagent?.blocks.at(-1)].some(
    (block) => block && 'content' in block && block.content.trim() === text.trim(),
  );
}

export function subagentKey(toolUseId: string): string {
  return `subagent:${toolUseId}`;
}
