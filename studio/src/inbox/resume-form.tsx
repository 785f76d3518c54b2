import { type ReactNode, useState } from 'react';
import type { ClientActions } from '../../../src/react/conversation-client.ts';
import type { LimitItem, ProviderItem } from '../../../src/server/inbox-items.ts';
import { waitSentence } from '../conversation/suspension.ts';
import { Button } from '../ui/button.tsx';
import { compact, count, money } from '../ui/format.ts';
import { sentence } from '../ui/problem.tsx';
import { BUDGET_LIMITS, type BudgetLimit, limitToRaise, suggestedMax } from './budget-limits.ts';
import { decide, type FormProps } from './form-props.ts';
import { GiveUp } from './give-up.tsx';

/** A limit that is raised; another one stays as it is. */
type Raise = NonNullable<NonNullable<Parameters<ClientActions['resume']>[0]>['raise']>;

const HEADINGS: Readonly<Record<LimitItem['reason'], string>> = {
  BUDGET_EXCEEDED: 'Its budget is spent',
  TURN_LIMIT: 'It reached its limit of turns',
  DEADLINE_EXCEEDED: 'It reached its deadline',
};

/** An evaluation that waits at a limit, which a person can raise. */
export function LimitForm(props: FormProps<LimitItem>) {
  const { item, attempt } = props;
  const { reason, message, usage, turns } = item;
  const tokens = usage.inputTokens + usage.outputTokens;
  const used = [count(turns, 'turn'), `${compact(tokens)} tokens`, usage.costUsd !== undefined && money(usage.costUsd)];
  const go = (raise: Raise): void => decide(props, (session) => session.resume({ raise }));
  return (
    <Waiting heading={HEADINGS[reason]} message={waitSentence(reason, message)} {...props}>
      <p className="w-full text-muted">So far: {used.filter(Boolean).join(', ')}.</p>
      {reason === 'BUDGET_EXCEEDED' && <RaiseBudget item={item} isDisabled={attempt.isRunning} onResume={go} />}
      {reason === 'TURN_LIMIT' && (
        <NumberField
          label="Most turns"
          initial={String(turns * 2)}
          isDisabled={attempt.isRunning}
          onSubmit={(maxTurns) => go({ maxTurns })}
        />
      )}
      {reason === 'DEADLINE_EXCEEDED' && <Resume {...props} label="Continue" />}
    </Waiting>
  );
}

/** A provider that returned no response. */
export function ProviderForm(props: FormProps<ProviderItem>) {
  const { message, provider, status } = props.item;
  const which = [provider, status !== undefined && `HTTP status ${status}`].filter(Boolean).join(', ');
  return (
    <Waiting
      heading={`Its provider failed${which === '' ? '' : ` (${which})`}`}
      message={waitSentence('PROVIDER_FAILED', message)}
      {...props}
    >
      <Resume {...props} label="Try again" />
    </Waiting>
  );
}

/** An evaluation that a person stopped: it is no item of the inbox. */
export function StoppedByPersonForm(props: Pick<FormProps<unknown>, 'attempt'> & { readonly sessionId: string }) {
  const { sessionId, attempt } = props;
  const rest = { item: { session: { id: sessionId } }, attempt, onDone: () => {} };
  return (
    <Waiting heading="It was stopped" message="" {...rest}>
      <Resume {...rest} label="Continue" />
    </Waiting>
  );
}

function Resume({ label, ...form }: FormProps & { readonly label: string }) {
  return (
    <Button
      kind="primary"
      disabled={form.attempt.isRunning}
      onClick={() => decide(form, (session) => session.resume())}
    >
      {label}
    </Button>
  );
}

function Waiting(
  props: FormProps & { readonly heading: string; readonly message: string; readonly children: ReactNode },
) {
  const { heading, message, children, ...form } = props;
  return (
    <section aria-label={heading} className="flex flex-col gap-2">
      <h2 className="font-semibold text-waits">{heading}</h2>
      {message !== '' && <p className="break-words text-muted">{sentence(new Error(message))}</p>}
      <div className="flex flex-wrap items-center gap-2">
        {children}
        <span className="flex-1" />
        <GiveUp {...form}>Give it up…</GiveUp>
      </div>
    </section>
  );
}

/** Suggests twice of what was used, of the limit that was reached. */
function RaiseBudget(props: {
  readonly item: LimitItem;
  readonly isDisabled: boolean;
  readonly onResume: (raise: Raise) => void;
}) {
  const { item, isDisabled, onResume } = props;
  const [name, setName] = useState(limitToRaise(item));
  const suggested = suggestedMax(item, name);
  return (
    <NumberField
      key={name}
      label={BUDGET_LIMITS[name].label}
      initial={suggested > 0 ? String(suggested) : ''}
      isDisabled={isDisabled}
      onSubmit={(value) => onResume({ budget: { [name]: value } })}
    >
      <select
        aria-label="Limit to raise"
        value={name}
        onChange={({ target }) => setName(target.value as BudgetLimit)}
        className="h-7 rounded-md border border-line bg-ground px-1.5"
      >
        {Object.entries(BUDGET_LIMITS).map(([value, { option }]) => (
          <option key={value} value={value}>
            {option}
          </option>
        ))}
      </select>
    </NumberField>
  );
}

function NumberField(props: {
  readonly label: string;
  readonly initial: string;
  readonly isDisabled: boolean;
  readonly onSubmit: (value: number) => void;
  readonly children?: ReactNode;
}) {
  const { label, initial, isDisabled, onSubmit, children } = props;
  const [text, setText] = useState(initial);
  const value = Number(text);
  const isNumber = text.trim() !== '' && value > 0;
  return (
    <>
      {children}
      <input
        type="number"
        min="0"
        step="any"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={({ target }) => setText(target.value)}
        className="h-7 w-32 rounded-md border border-line bg-ground px-2 focus:border-accent focus:outline-none"
      />
      <Button kind="primary" disabled={isDisabled || !isNumber} onClick={() => onSubmit(value)}>
        Raise and continue
      </Button>
    </>
  );
}
