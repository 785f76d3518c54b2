import type { ReactNode } from 'react';
import type { FailedItem, StoppedItem } from '../../../src/server/inbox-items.ts';
import { Button } from '../ui/button.tsx';
import { count } from '../ui/format.ts';
import { sentence } from '../ui/problem.tsx';
import { decide, type FormProps } from './form-props.ts';
import { GiveUp } from './give-up.tsx';

/** An evaluation that failed while further messages wait: giving it up lets them run. */
export function FailedForm(props: FormProps<FailedItem>) {
  const { session, message } = props.item;
  const heading = `It failed, and ${count(session.queued, 'queued message')} ${session.queued === 1 ? 'waits' : 'wait'} behind it`;
  return (
    <Failed name="Failed" heading={heading} message={message}>
      <GiveUp {...props}>Give it up and continue…</GiveUp>
    </Failed>
  );
}

/** A session whose runs failed again and again: no worker touches it until a person says so. */
export function GivenUpForm(props: FormProps<StoppedItem>) {
  const { message, attempts } = props.item;
  const heading = `Workers gave up after ${count(attempts, 'failed attempt')}`;
  return (
    <Failed name="Workers gave up" heading={heading} message={message}>
      <Button
        kind="primary"
        disabled={props.attempt.isRunning}
        onClick={() => decide(props, (session) => session.resume())}
      >
        Try again
      </Button>
    </Failed>
  );
}

function Failed(props: {
  readonly name: string;
  readonly heading: string;
  readonly message: string;
  readonly children: ReactNode;
}) {
  const { name, heading, message, children } = props;
  return (
    <section aria-label={name} className="flex flex-wrap items-center gap-3">
      <div className="min-w-60 flex-1">
        <h2 className="font-semibold text-fails">{heading}</h2>
        <p className="break-words text-muted">{sentence(new Error(message))}</p>
      </div>
      {children}
    </section>
  );
}
