import { memo } from 'react';
import type { TextBlock } from '../../../../src/conversation/blocks.ts';
import { Icon } from '../../ui/icon.tsx';
import { Attachments } from '../attachments.tsx';
import { Disclosure } from '../disclosure.tsx';
import { visible } from '../tools/ansi.ts';
import { LongText } from './long-text.tsx';
import { Markdown } from './markdown.tsx';

interface Props {
  readonly id: string;
  readonly block: TextBlock;
}

/** What a person said, as it was typed. */
export const UserMessage = memo(({ id, block }: Props) => (
  <div className="rounded-md border-l-2 border-accent bg-panel px-3 py-1.5">
    <span className="sr-only">You: </span>
    <LongText id={id} text={block.content}>
      {(text) => <div className="text-base break-words whitespace-pre-wrap">{visible(text)}</div>}
    </LongText>
    {block.attachments && <Attachments attachments={block.attachments} />}
  </div>
));

/** What the model said. */
export const AssistantText = memo(({ id, block }: Props) => (
  <div>
    <span className="sr-only">Assistant: </span>
    <Markdown id={id} text={block.content} isLive={block.status === 'pending'} />
    {block.attachments && <Attachments attachments={block.attachments} />}
    {block.status === 'error' && <p className="mt-1 text-xs text-fails">This response was interrupted.</p>}
  </div>
));

/** What the model thought, folded to its first line. While it thinks, the newest line is shown. */
export const Thinking = memo(({ id, block }: Props) => {
  const isLive = block.status === 'pending';
  const lines = block.content.trim().split('\n');
  const line = (isLive ? lines.at(-1) : lines[0]) ?? '';
  return (
    <Disclosure
      id={id}
      summary={
        <>
          <Icon name="thought" className={isLive ? 'text-accent' : 'text-muted'} />
          <span className="min-w-0 truncate text-muted">{line.slice(0, 300).replace(/[*_`#]/g, '')}</span>
        </>
      }
    >
      {() => (
        <div className="pl-6 text-muted">
          <Markdown id={id} text={block.content} isLive={isLive} />
        </div>
      )}
    </Disclosure>
  );
});
