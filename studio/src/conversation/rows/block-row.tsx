import { memo, type ReactNode, useContext } from 'react';
import { ForkContext } from '../../compare/fork-context.ts';
import { Compaction } from '../compaction.tsx';
import { Disclosure } from '../disclosure.tsx';
import { Notice } from '../notice.tsx';
import { Subagent } from '../subagent.tsx';
import { AssistantText, Thinking, UserMessage } from '../text/text-blocks.tsx';
import { JsonView } from '../tools/json-view.tsx';
import { ToolCall } from '../tools/tool-call.tsx';
import { ToolOutput } from '../tools/tool-output.tsx';
import { RowActions } from './row-actions.tsx';
import type { Row } from './rows.ts';

const INDENTS = ['', 'pl-5', 'pl-10', 'pl-15', 'pl-20'];

/** One row of a conversation. */
export const BlockRow = memo(
  (props: {
    readonly row: Row;
    /** The address of the row itself. */
    readonly href?: string;
    readonly isTarget?: boolean;
    /** Of a subagent in a static file: its rows, which are inside of its own. */
    readonly children?: ReactNode;
  }) => {
    const { row, href, isTarget = false, children } = props;
    const { block, depth } = row;
    const fork = useContext(ForkContext);
    const isText = block.type === 'user_message' || block.type === 'assistant_text';
    return (
      <article
        id={`block-${row.key}`}
        data-type={block.type}
        aria-label={NAMES[block.type]}
        className={`group/row relative ${isText ? 'py-1.5' : 'py-0.5'} ${INDENTS[Math.min(depth, 4)]} ${isTarget ? 'rounded bg-accent-ground' : ''}`}
      >
        {depth > 0 && <span aria-hidden="true" className="absolute inset-y-0 left-2 border-l border-strong-line" />}
        <Block row={row}>{children}</Block>
        {href !== undefined && (
          <RowActions
            href={href}
            at={block.timestamp}
            isShown={isTarget}
            onFork={fork && depth === 0 ? () => fork(block) : undefined}
          />
        )}
      </article>
    );
  },
);

const NAMES: Readonly<Record<Row['block']['type'], string>> = {
  user_message: 'Message of the user',
  assistant_text: 'Response',
  thinking: 'Thinking',
  tool_use: 'Tool call',
  tool_result: 'Tool result',
  subagent: 'Subagent',
  system: 'Notice',
  error: 'Error',
  skill: 'Skill',
  compaction: 'Compaction',
  unknown: 'Unknown block',
};

function Block({ row, children }: { readonly row: Row; readonly children: ReactNode }): ReactNode {
  const { block, key } = row;
  switch (block.type) {
    case 'user_message':
      return <UserMessage id={key} block={block} />;
    case 'assistant_text':
      return <AssistantText id={key} block={block} />;
    case 'thinking':
      return <Thinking id={key} block={block} />;
    case 'tool_use':
      return <ToolCall id={key} block={block} result={row.result} waitsFor={row.waitsFor} />;
    case 'tool_result':
      return <ToolOutput id={key} result={block} kind="other" />;
    case 'subagent':
      return (
        <Subagent id={key} block={block} subagent={row.subagent} call={row.call} result={row.result}>
          {children}
        </Subagent>
      );
    case 'compaction':
      return <Compaction row={row} block={block} />;
    case 'system':
    case 'error':
    case 'skill':
      return <Notice id={key} block={block} />;
    case 'unknown':
      return (
        <Disclosure id={key} summary={<span className="text-muted">Unknown block: {block.sourceType}</span>}>
          {() => <JsonView id={key} data={block.data} />}
        </Disclosure>
      );
    default:
      return block satisfies never;
  }
}
