import type { Conversation } from 'holdfast/react';
import { Button } from '../ui/button.tsx';

/** A message that waits for its turn. */
export type QueuedInput = Conversation['queue'][number];

/** What a person has typed, after the texts of messages that are not sent now. */
export function withQueued(typed: string, queue: readonly QueuedInput[]): string {
  const texts = queue.flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')));
  return [...texts, typed].filter((text) => text.trim() !== '').join('\n\n');
}

/** Messages that were sent and are not part of the conversation yet. */
export function Queue(props: {
  readonly queue: Conversation['queue'];
  readonly onWithdraw: (input: QueuedInput) => void;
}) {
  const { queue, onWithdraw } = props;
  if (queue.length === 0) return null;
  return (
    <ul aria-label="Queued messages" className="mx-auto max-h-40 w-full max-w-4xl overflow-y-auto px-4 py-1 xl:px-14">
      {queue.map((input) => (
        <li key={input.id} className="flex items-center gap-3 py-0.5">
          <span className="w-12 shrink-0 text-xs text-accent">{input.mode === 'steer' ? 'steers' : 'next'}</span>
          <span className="min-w-0 flex-1 truncate">
            {input.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ')}
          </span>
          <Button kind="quiet" onClick={() => onWithdraw(input)}>
            Withdraw
          </Button>
        </li>
      ))}
    </ul>
  );
}
