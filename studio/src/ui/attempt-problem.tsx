import { Button } from './button.tsx';
import { Problem, sentence } from './problem.tsx';
import type { Attempt } from './use-attempt.ts';

/** The error of the last action, until it is dismissed. */
export function AttemptProblem({ attempt: { problem, dismiss } }: { readonly attempt: Attempt }) {
  if (!problem) return null;
  return (
    <Problem
      action={
        <Button kind="quiet" onClick={dismiss}>
          Dismiss
        </Button>
      }
    >
      {sentence(problem)}
    </Problem>
  );
}
