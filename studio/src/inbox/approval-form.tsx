import { useId, useState } from 'react';
import type { ApprovalItem } from '../../../src/server/inbox-items.ts';
import { useNow } from '../ui/ago.tsx';
import { Button } from '../ui/button.tsx';
import { roughly } from '../ui/format.ts';
import { CallHeading } from './call-heading.tsx';
import { decide, type FormProps } from './form-props.ts';
import { argumentsOf } from './waiting.ts';

/** A call that runs only if a person says so: with exactly these arguments, or with others. */
export function ApprovalForm(props: FormProps<ApprovalItem>) {
  const { item, attempt } = props;
  const original = JSON.stringify(argumentsOf(item), null, 2);
  const [text, setText] = useState(original);
  const [reason, setReason] = useState('');
  const id = useId();
  const isEdited = text !== original;
  const problem = isEdited ? jsonProblem(text) : undefined;
  const { call } = item;
  return (
    <section aria-label={`Approval of ${item.toolName}`} className="flex flex-col gap-2">
      <div className="flex items-baseline gap-3">
        <CallHeading call={item} question="May it run?" />
        <span className="ml-auto shrink-0 text-xs text-muted">
          <Expiry at={item.expiresAt} />
        </span>
      </div>
      {item.problem !== undefined && <p className="text-fails">The arguments before were refused: {item.problem}</p>}
      {!item.isExact && (
        <p className="text-muted">
          These arguments are redacted. It runs with the exact ones, which are not readable here.
        </p>
      )}
      <label htmlFor={id} className="text-xs text-muted">
        Arguments{isEdited && ' (changed)'}
      </label>
      <textarea
        id={id}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        onChange={({ target }) => setText(target.value)}
        className="max-h-80 min-h-9 rounded-md border border-line bg-panel px-2.5 py-1.5 font-mono text-[0.75rem] leading-[1.15rem] [field-sizing:content] focus:border-accent focus:outline-none aria-invalid:border-fails"
      />
      {problem !== undefined && <p className="text-xs text-fails">This is no JSON: {problem}</p>}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          kind="primary"
          disabled={problem !== undefined || attempt.isRunning}
          onClick={() =>
            decide(props, (session) => session.approve(call, isEdited ? { arguments: JSON.parse(text) } : {}))
          }
        >
          {isEdited ? 'Approve with these arguments' : 'Approve'}
        </Button>
        {isEdited && (
          <Button kind="quiet" onClick={() => setText(original)}>
            Undo the changes
          </Button>
        )}
        <span className="flex-1 max-md:hidden" />
        <input
          aria-label="Reason for denying"
          placeholder="Reason, for the model"
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          className="h-7 min-w-0 flex-[0_1_13rem] rounded-md max-md:flex-[1_1_6rem] border border-line bg-ground px-2 focus:border-accent focus:outline-none"
        />
        <Button
          kind="danger"
          disabled={attempt.isRunning}
          onClick={() =>
            decide(props, (session) => session.deny(call, reason.trim() === '' ? {} : { reason: reason.trim() }))
          }
        >
          Deny
        </Button>
      </div>
    </section>
  );
}

function Expiry({ at }: { readonly at: string | undefined }) {
  const left = Date.parse(at ?? '') - useNow();
  if (at === undefined || Number.isNaN(left)) return null;
  return <span className="text-waits">{left > 0 ? `expires in ${roughly(left)}` : 'has expired'}</span>;
}

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
