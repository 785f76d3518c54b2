import type { Conversation } from 'holdfast/react';
import { useState } from 'react';
import { JsonView } from '../conversation/json-view.tsx';
import { Terminal } from '../conversation/terminal.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import type { Attempt } from '../ui/use-attempt.ts';
import { CallHeading } from './call-heading.tsx';
import { argumentsOf, type WaitingCall } from './waiting.ts';

/** A call that was started and whose outcome is unknown: a person looks it up and settles it. */
export function SettleForm(props: {
  readonly call: WaitingCall;
  /** What the tool had printed. */
  readonly printed: string;
  /** What the runner, or `reconcile`, said about it. */
  readonly message: string;
  readonly actions: Pick<Conversation['actions'], 'settle'>;
  readonly attempt: Attempt;
  readonly onDone?: () => void;
}) {
  const { call, printed, message, actions, attempt, onDone } = props;
  const [result, setResult] = useState('');
  const [asks, setAsks] = useState(false);
  const id = `${call.evaluationId}/${call.turn}/${call.callId}`;
  const settle = async (how: Parameters<typeof actions.settle>[1]): Promise<void> => {
    if (await attempt.run(() => actions.settle(call, how))) onDone?.();
  };
  const given = result.trim() === '' ? undefined : result.trim();
  return (
    <section aria-label={`Outcome of ${call.name}`} className="flex flex-col gap-2">
      <CallHeading call={call} question="Did it happen?" />
      <p className="text-muted">
        It was started, and whether it took effect is not known. Find out, then settle it.
        {message !== '' && ` (${message})`}
      </p>
      <JsonView id={`${id}:arguments`} data={argumentsOf(call)} />
      {printed !== '' && (
        <div>
          <p className="text-xs text-muted">It had printed</p>
          <Terminal id={`${id}:printed`} text={printed} />
        </div>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <textarea
          aria-label="Result"
          rows={1}
          placeholder="What it returned, or why it failed"
          value={result}
          onChange={({ target }) => setResult(target.value)}
          className="max-h-40 min-h-7 min-w-60 flex-1 resize-none rounded-md border border-line bg-ground px-2.5 py-0.75 [field-sizing:content] focus:border-accent focus:outline-none"
        />
        <Button
          kind="primary"
          disabled={given === undefined || attempt.isRunning}
          onClick={() => void settle({ result: given })}
        >
          It returned this
        </Button>
        <Button
          disabled={attempt.isRunning}
          onClick={() => void settle({ result: given ?? 'It failed.', isError: true })}
        >
          It failed
        </Button>
        <Button kind="danger" disabled={attempt.isRunning} onClick={() => setAsks(true)}>
          Run it again…
        </Button>
      </div>
      <Confirm
        isOpen={asks}
        onClose={() => setAsks(false)}
        title={`Run ${call.name} again?`}
        explanation="It may have taken effect already. Running it again can do it twice."
        action="Run it again"
        onConfirm={() => void settle({ rerun: true })}
      />
    </section>
  );
}
