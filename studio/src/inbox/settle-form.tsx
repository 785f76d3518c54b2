import { useState } from 'react';
import type { ClientActions } from '../../../src/react/conversation-client.ts';
import type { OutcomeItem } from '../../../src/server/inbox-items.ts';
import { reconcileSentence } from '../conversation/suspension.ts';
import { JsonView } from '../conversation/tools/json-view.tsx';
import { ToolProgress } from '../conversation/tools/tool-progress.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { sentence } from '../ui/problem.tsx';
import { CallHeading } from './call-heading.tsx';
import { decide, type FormProps } from './form-props.ts';
import { argumentsOf } from './waiting.ts';

/** A call that was started and whose outcome is unknown: a person looks it up and settles it. */
export function SettleForm(props: FormProps<OutcomeItem>) {
  const { item, attempt } = props;
  const { call, progress, attempt: tries } = item;
  const [result, setResult] = useState('');
  const [asks, setAsks] = useState(false);
  const id = `${call.evaluationId}/${call.turn}/${call.callId}`;
  const settle = (how: Parameters<ClientActions['settle']>[1]): void =>
    decide(props, (session) => session.settle(call, how));
  const found = item.reconcile && reconcileSentence(item.reconcile);
  const given = result.trim() === '' ? undefined : result.trim();
  return (
    <section aria-label={`Outcome of ${item.toolName}`} className="flex flex-col gap-2">
      <CallHeading call={item} question="Did it happen?" />
      <p className="text-muted">
        It was started{tries > 1 && ` ${tries} times`}, and whether it took effect is not known. Find out, then settle
        it.
      </p>
      {found !== undefined && <p className="break-words text-waits">{sentence(new Error(found))}</p>}
      <JsonView id={`${id}:arguments`} data={argumentsOf(item)} />
      {progress && (
        <div>
          <p className="text-xs text-muted">What it had reported</p>
          <ToolProgress id={id} progress={progress} />
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
          onClick={() => settle({ result: given })}
        >
          It returned this
        </Button>
        <Button disabled={attempt.isRunning} onClick={() => settle({ result: given ?? 'It failed.', isError: true })}>
          It failed
        </Button>
        <Button kind="danger" disabled={attempt.isRunning} onClick={() => setAsks(true)}>
          Run it again…
        </Button>
      </div>
      <Confirm
        isOpen={asks}
        onClose={() => setAsks(false)}
        title={`Run ${item.toolName} again?`}
        explanation="It may have taken effect already. Running it again can do it twice."
        action="Run it again"
        onConfirm={() => settle({ rerun: true })}
      />
    </section>
  );
}
