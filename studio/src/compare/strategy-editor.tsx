import type { Strategy } from 'holdfast/history';
import type { StrategyStep } from '../../../src/history/managers/strategy.ts';
import { Button } from '../ui/button.tsx';
import { MANAGER_NAMES, MANAGERS, newStep, withNumber } from './strategy-list.ts';

const FIELD = 'h-7 rounded-md border border-line bg-ground pl-1.5';

/** One strategy: its steps in order, each with its numbers. */
export function StrategyEditor(props: {
  /** Counts from 1. */
  readonly number: number;
  readonly strategy: Strategy;
  readonly onChange: (strategy: Strategy) => void;
  readonly onRemove: (() => void) | undefined;
}) {
  const { number, strategy, onChange, onRemove } = props;
  const { steps } = strategy;
  const setStep = (at: number, step: StrategyStep | undefined): void =>
    onChange({ steps: steps.flatMap((one, i) => (i === at ? (step ? [step] : []) : [one])) });
  return (
    <fieldset className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <legend className="sr-only">Strategy {number}</legend>
      {steps.map((step, at) => (
        <span key={at} className="inline-flex flex-wrap items-center gap-1.5">
          {at > 0 && <span className="text-muted">then</span>}
          <select
            aria-label={`Manager of step ${at + 1} of strategy ${number}`}
            className={`${FIELD} pr-1`}
            value={step.manager}
            onChange={({ target }) => setStep(at, newStep(target.value as StrategyStep['manager']))}
          >
            {Object.entries(MANAGER_NAMES).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
          {MANAGERS[step.manager].map(({ name, label }) => (
            <NumberField
              key={name}
              label={label}
              value={(step as unknown as Readonly<Record<string, number | undefined>>)[name]}
              onChange={(value) => setStep(at, withNumber(step, name, value))}
            />
          ))}
          {steps.length > 1 && (
            <Button
              kind="quiet"
              aria-label={`Remove step ${at + 1} of strategy ${number}`}
              onClick={() => setStep(at, undefined)}
            >
              ×
            </Button>
          )}
        </span>
      ))}
      {steps.length < 4 && (
        <Button
          kind="quiet"
          aria-label={`Add a step to strategy ${number}`}
          onClick={() => onChange({ steps: [...steps, newStep('slidingWindow')] })}
        >
          + step
        </Button>
      )}
      {onRemove && (
        <Button kind="quiet" aria-label={`Remove strategy ${number}`} onClick={onRemove}>
          Remove
        </Button>
      )}
    </fieldset>
  );
}

function NumberField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}) {
  return (
    <label className="inline-flex items-center gap-1 text-muted">
      {label}
      <input
        type="number"
        min={0}
        className={`${FIELD} w-20 text-ink tabular-nums`}
        value={value ?? ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
      />
    </label>
  );
}
