import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { decide, type FormProps } from './form-props.ts';

/** A button that asks, and then gives up the evaluation of a session. */
export function GiveUp({ children, ...form }: FormProps & { readonly children: string }) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button kind="danger" disabled={form.attempt.isRunning} onClick={() => setAsks(true)}>
        {children}
      </Button>
      <Confirm
        isOpen={asks}
        onClose={() => setAsks(false)}
        title="Give it up?"
        explanation="The work on the last message ends here and cannot be continued. What was said stays in the log, and the model does not see it again. Queued messages run next."
        action="Give it up"
        onConfirm={() => decide(form, (session) => session.abandon())}
      />
    </>
  );
}
