import { messageOf } from '../core/errors.ts';
import type { UpcastErrorHandler } from '../core/log/upcast.ts';

/** Reports an event that could not be translated, once, however often it is read. */
export function oncePerEvent(report: (error: unknown) => void): UpcastErrorHandler {
  const reported = new Set<number>();
  return ({ seq }, error) => {
    if (reported.has(seq)) return;
    reported.add(seq);
    report(error);
  };
}

/** Receives errors that no promise can carry. An error that the handler itself throws becomes a process warning. */
export function reporter(onError: (error: unknown) => void = warn): (error: unknown) => void {
  return (error) => {
    try {
      onError(error);
    } catch (second) {
      warn(second);
    }
  };
}

/** The same for a process of many sessions: the handler learns which one an error is about. */
export function contextReporter(
  onError: ((error: unknown, context: { readonly sessionId?: string }) => void) | undefined,
): (error: unknown, sessionId?: string) => void {
  if (!onError) return reporter();
  return (error, sessionId) => reporter((each) => onError(each, sessionId === undefined ? {} : { sessionId }))(error);
}

function warn(error: unknown): void {
  process.emitWarning(messageOf(error), 'HoldfastWarning');
}
