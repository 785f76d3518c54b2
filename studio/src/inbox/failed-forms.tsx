import type { FailedItem, StoppedItem } from 'holdfast/server';
import { useState } from 'react';
import { sessionActions } from '../api/server.ts';
import { Button } from '../ui/button.tsx';
import { count } from '../ui/format.ts';
import { sentence } from '../ui/problem.tsx';
import { ConfirmGiveUp } from './confirm-give-up.tsx';
import type { FormProps } from './form-props.ts';

/** An evaluation that failed while further messages wait: giving it up lets them run. */
export function FailedForm({ item, attempt, onDone }: FormProps<FailedItem>) {
  const { session, message } = item;
  const [asks, setAsks] = useState(false);
  const go = async (): Promise<void> => {
    if (await attempt.run(() => sessionActions(session.id).abandon())) onDone();
  };
  return (
    <section aria-label="Failed" className="flex flex-wrap items-center gap-3">
      <div className="min-w-60 flex-1">
        <h2 className="font-semibold text-fails">
          It failed, and {count(session.queued, 'queued message')} {session.queued === 1 ? 'waits' : 'wait'} behind it
        </h2>
        <p className="break-words text-muted">{sentence(new Error(message))}</p>
      </div>
      <Button kind="danger" disabled={attempt.isRunning} onClick={() => setAsks(true)}>
        Give it up and continue…
      </Button>
      <ConfirmGiveUp isOpen={asks} onClose={() => setAsks(false)} onConfirm={() => void go()} />
    </section>
  );
}

/** A session whose runs failed again and again: no worker touches it until a person says so. */
export function GivenUpForm({ item, attempt, onDone }: FormProps<StoppedItem>) {
  const { session, message, attempts } = item;
  const go = async (): Promise<void> => {
    if (await attempt.run(() => sessionActions(session.id).resume())) onDone();
  };
  return (
    <section aria-label="Workers gave up" className="flex flex-wrap items-center gap-3">
      <div className="min-w-60 flex-1">
        <h2 className="font-semibold text-fails">Workers gave up after {count(attempts, 'failed attempt')}</h2>
        <p className="break-words text-muted">{sentence(new Error(message))}</p>
      </div>
      <Button kind="primary" disabled={attempt.isRunning} onClick={() => void go()}>
        Try again
      </Button>
    </section>
  );
}
