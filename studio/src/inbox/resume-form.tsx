import type { Conversation } from 'holdfast/react';
import { type ReactNode, useState } from 'react';
import { Button } from '../ui/button.tsx';
import type { Attempt } from '../ui/use-attempt.ts';
import type { WaitReason } from './waiting.ts';

type Resume = NonNullable<Parameters<Conversation['actions']['resume']>[0]>;

/** An evaluation that waits for no call: a limit was reached, its provider failed, or a person stopped it. */
export function ResumeForm(props: {
  readonly waits: WaitReason;
  readonly actions: Pick<Conversation['actions'], 'resume' | 'abandon'>;
  readonly attempt: Attempt;
  readonly onDone?: () => void;
}) {
  const { waits, actions, attempt, onDone } = props;
  const decide = async (action: () => Promise<void>): Promise<void> => {
    if (await attempt.run(action)) onDone?.();
  };
  const resume = (options: Resume): Promise<void> => decide(() => actions.resume(options));
  return (
    <section aria-label={HEADINGS[waits.reason] ?? 'Waits'} className="flex flex-col gap-2">
      <h2 className="font-semibold text-waits">{HEADINGS[waits.reason] ?? 'It waits'}</h2>
      <p className="break-words text-muted">{waits.message}</p>
      <div className="flex flex-wrap items-center gap-2">
        {waits.reason === 'BUDGET_EXCEEDED' && (
          <RaiseBudget isDisabled={attempt.isRunning} onResume={(options) => void resume(options)} />
        )}
        {waits.reason === 'TURN_LIMIT' && (
          <NumberField
            label="Most turns"
            initial="50"
            isDisabled={attempt.isRunning}
            onSubmit={(maxTurns) => void resume({ maxTurns })}
          />
        )}
        {waits.reason !== 'BUDGET_EXCEEDED' && waits.reason !== 'TURN_LIMIT' && (
          <Button kind="primary" disabled={attempt.isRunning} onClick={() => void resume({})}>
            {waits.reason === 'PROVIDER_FAILED' ? 'Try again' : 'Continue'}
          </Button>
        )}
        <span className="flex-1" />
        <Button kind="danger" disabled={attempt.isRunning} onClick={() => void decide(() => actions.abandon({}))}>
          Give it up
        </Button>
      </div>
    </section>
  );
}

const HEADINGS: Readonly<Record<string, string>> = {
  BUDGET_EXCEEDED: 'Its budget is spent',
  TURN_LIMIT: 'It reached its limit of turns',
  DEADLINE_EXCEEDED: 'It reached its deadline',
  PROVIDER_FAILED: 'Its provider failed',
  CANCELLED: 'It was stopped',
  TOOL_OUTCOME_UNKNOWN: 'The outcome of a call is unknown',
  APPROVAL_REQUIRED: 'A call needs approval',
};

function RaiseBudget(props: { readonly isDisabled: boolean; readonly onResume: (options: Resume) => void }) {
  const { isDisabled, onResume } = props;
  const [kind, setKind] = useState<'maxCostUsd' | 'maxTokens'>('maxCostUsd');
  return (
    <NumberField
      label={kind === 'maxCostUsd' ? 'Most dollars' : 'Most tokens'}
      initial=""
      isDisabled={isDisabled}
      onSubmit={(value) => onResume({ budget: { [kind]: value } })}
    >
      <select
        aria-label="Limit to raise"
        value={kind}
        onChange={({ target }) => setKind(target.value === 'maxTokens' ? 'maxTokens' : 'maxCostUsd')}
        className="h-7 rounded-md border border-line bg-ground px-1.5"
      >
        <option value="maxCostUsd">Cost in dollars</option>
        <option value="maxTokens">Tokens</option>
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
