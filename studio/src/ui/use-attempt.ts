import { useCallback, useState } from 'react';

/** Runs actions and keeps the error of the last one, to be said on the page. */
export interface Attempt {
  readonly problem: Error | undefined;
  readonly isRunning: boolean;
  /** True when it succeeded. */
  run(action: () => Promise<unknown>): Promise<boolean>;
  dismiss(): void;
}

export function useAttempt(): Attempt {
  const [problem, setProblem] = useState<Error>();
  const [running, setRunning] = useState(0);
  const run = useCallback(async (action: () => Promise<unknown>): Promise<boolean> => {
    setProblem(undefined);
    setRunning((count) => count + 1);
    try {
      await action();
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
      return false;
    } finally {
      setRunning((count) => count - 1);
    }
  }, []);
  const dismiss = useCallback(() => setProblem(undefined), []);
  return { problem, isRunning: running > 0, run, dismiss };
}
