import type { Conversation } from 'holdfast/react';
import { type Dispatch, type SetStateAction, useRef } from 'react';
import { useCommands } from '../shell/commands.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { MOD } from '../ui/kbd.tsx';
import type { Attempt } from '../ui/use-attempt.ts';
import { type QueuedInput, withQueued } from './queue.tsx';

/** Writes to the agent. While it works, a message waits for its turn or, as a steer, joins the work before the next request. */
export function Composer(props: {
  readonly actions: Conversation['actions'];
  readonly attempt: Attempt;
  readonly isBusy: boolean;
  readonly queue: readonly QueuedInput[];
  /** What was typed and not sent. */
  readonly text: string;
  readonly onText: Dispatch<SetStateAction<string>>;
}) {
  const { actions, attempt, isBusy, queue, text, onText: setText } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  /** The queue is withdrawn with it: its texts are typed again, so that a person can send them. */
  const stop = async (): Promise<void> => {
    if (await attempt.run(() => actions.stop())) setText((typed) => withQueued(typed, queue));
  };
  useCommands([
    { id: 'write', title: 'Write a message', group: 'Session', keys: 'r', run: () => field.current?.focus() },
    ...(isBusy
      ? [
          {
            id: 'stop',
            title: 'Stop the agent',
            group: 'Session' as const,
            run: () => void stop(),
          },
        ]
      : []),
  ]);
  const submit = async (mode: 'send' | 'steer'): Promise<void> => {
    const message = text.trim();
    if (message === '') return;
    setText('');
    const isSent = await attempt.run(() => actions[mode](message));
    if (!isSent) setText((later) => (later === '' ? message : later)); // nothing that was typed is lost
  };
  return (
    <form
      data-busy={isBusy || undefined}
      className="mx-auto flex w-full max-w-4xl flex-wrap items-end justify-end gap-2 px-4 pt-1 pb-3 xl:px-14"
      onSubmit={(event) => {
        event.preventDefault();
        void submit('send');
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        rows={1}
        value={text}
        placeholder={isBusy ? `Enter queues, ${MOD} Enter steers now` : 'Write to the agent'}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur();
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void submit(isBusy && (event.metaKey || event.ctrlKey) ? 'steer' : 'send');
        }}
        className="max-h-48 min-h-8 flex-1 resize-none rounded-md border border-strong-line bg-ground px-2.5 py-1.25 text-base [field-sizing:content] focus:border-accent focus:outline-none max-md:in-data-busy:basis-full"
      />
      {isBusy && (
        <Button className="h-8!" disabled={text.trim() === ''} onClick={() => void submit('steer')}>
          Steer
        </Button>
      )}
      <Button type="submit" kind="primary" className="h-8!" disabled={text.trim() === ''}>
        {isBusy ? 'Queue' : 'Send'}
      </Button>
      {isBusy && (
        <Button kind="danger" className="h-8!" onClick={() => void stop()}>
          <Icon name="stop" className="size-3!" /> Stop
        </Button>
      )}
    </form>
  );
}
