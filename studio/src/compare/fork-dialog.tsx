import type { ConversationBlock } from 'holdfast/conversation';
import { type FormEvent, useId, useState } from 'react';
import { actJson, sessionPath } from '../api/server.ts';
import { addressOf, navigate } from '../shell/router.ts';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { forkRequest } from './fork-request.ts';

const FIELD = 'w-full rounded-md border border-line bg-ground px-2 py-1';

/** Forks a session at a block: a message is sent again in other words or to another model; after any other block the fork continues. */
export function ForkDialog(props: {
  readonly sessionId: string;
  readonly block: ConversationBlock | undefined;
  readonly onClose: () => void;
}) {
  const { sessionId, block, onClose } = props;
  const title = block?.type === 'user_message' ? 'Fork and send this message again' : 'Fork after this block';
  return (
    <Dialog isOpen={block !== undefined} onClose={onClose} title={title}>
      {block && <ForkForm key={block.id} sessionId={sessionId} block={block} onClose={onClose} />}
    </Dialog>
  );
}

function ForkForm({
  sessionId,
  block,
  onClose,
}: {
  readonly sessionId: string;
  readonly block: ConversationBlock;
  readonly onClose: () => void;
}) {
  const isMessage = block.type === 'user_message';
  const [text, setText] = useState(isMessage ? block.content : '');
  const [model, setModel] = useState('');
  const [title, setTitle] = useState('');
  const attempt = useAttempt();
  const id = useId();
  const fork = (event: FormEvent): void => {
    event.preventDefault();
    void attempt.run(async () => {
      const { id: forkId } = await actJson<{ readonly id: string }>(
        sessionPath(sessionId, 'fork'),
        forkRequest(block, { text, model, title }),
      );
      onClose();
      navigate(addressOf('sessions', forkId));
    });
  };
  return (
    <form onSubmit={fork} className="flex min-h-0 flex-col overflow-y-auto">
      <AttemptProblem attempt={attempt} />
      <div className="flex flex-col gap-3 px-4 py-3">
        <p className="text-muted">
          {isMessage
            ? 'The new session has everything before this message. This session stays as it is.'
            : 'The new session has everything up to this block. This session stays as it is.'}
        </p>
        <label htmlFor={`${id}-text`} className="font-medium">
          {isMessage ? 'Message' : 'Next message'}{' '}
          {!isMessage && <span className="font-normal text-muted">(may stay empty)</span>}
        </label>
        <textarea
          id={`${id}-text`}
          rows={5}
          required={isMessage}
          className={`${FIELD} text-base`}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
          <label className="flex flex-col gap-1">
            <span className="font-medium">Model</span>
            <input
              className={FIELD}
              placeholder="as before"
              value={model}
              onChange={({ target }) => setModel(target.value)}
              aria-describedby={`${id}-model`}
            />
          </label>
          <label className="flex flex-col gap-1">
            <span className="font-medium">Title</span>
            <input
              className={FIELD}
              placeholder="as before"
              value={title}
              onChange={({ target }) => setTitle(target.value)}
            />
          </label>
        </div>
        <p id={`${id}-model`} className="text-xs text-muted">
          The model is written into the metadata of the new session. The program that runs the agents chooses by it.
        </p>
      </div>
      <div className="flex justify-end gap-2 px-4 pb-3">
        <Button kind="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button kind="primary" type="submit" disabled={attempt.isRunning}>
          {text.trim() === '' ? 'Fork' : 'Fork and send'}
        </Button>
      </div>
    </form>
  );
}
