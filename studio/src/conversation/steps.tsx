import { Icon } from '../ui/icon.tsx';

/** A list of things to do, each with its state. */
export function Steps({ steps }: { readonly steps: readonly { readonly text: string; readonly status: string }[] }) {
  return (
    <ul className="my-1 flex flex-col gap-0.5">
      {steps.map(({ text, status }, index) => {
        const isDone = /^(completed|done|complete)$/.test(status);
        const isCurrent = /^(in_progress|inProgress|active)$/.test(status);
        return (
          <li key={index} className={`flex gap-2 ${isDone ? 'text-muted' : isCurrent ? 'font-medium' : ''}`}>
            <Icon
              name={isDone ? 'check' : isCurrent ? 'chevron' : 'circle'}
              className={`mt-0.5 size-3.5! ${isCurrent ? 'text-accent' : 'text-muted'}`}
            />
            <span className={`min-w-0 break-words ${isDone ? 'line-through' : ''}`}>{text}</span>
            <span className="sr-only">({status})</span>
          </li>
        );
      })}
    </ul>
  );
}
