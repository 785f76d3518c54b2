import { HoldfastError } from '../errors.ts';
import type { Evaluation } from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import type { AnySlice } from '../fold/slices.ts';
import type { ConversationMessage } from '../log/messages.ts';
import { type SelectionOf, type SessionView, selectFrom } from './session-view.ts';
import {
  type ConversationTurn,
  type EvaluationOptions,
  type LatestOptions,
  latestEvaluationIn,
  type MessagesOptions,
  messagesIn,
  type PendingCall,
  pendingCallsIn,
  type QueuedInput,
  queuedInputsIn,
  turnsIn,
} from './views.ts';

/** The views of a state, which sessions and transactions share; `SessionView` documents them. */
export abstract class StateView implements SessionView {
  abstract readonly id: string;
  abstract readonly state: SessionState;

  select<S extends AnySlice>(slice: S): SelectionOf<S> {
    const selection = selectFrom(this.state, slice);
    if (!selection) throw unknownSlice(slice.name);
    return selection;
  }

  messages(options?: MessagesOptions): readonly ConversationMessage[] {
    return messagesIn(this.state, options);
  }

  turns(options?: EvaluationOptions): readonly ConversationTurn[] {
    return turnsIn(this.state, options);
  }

  latestEvaluation(options?: LatestOptions): Evaluation | undefined {
    return latestEvaluationIn(this.state, options);
  }

  pending(options?: EvaluationOptions): readonly PendingCall[] {
    return pendingCallsIn(this.state, options);
  }

  queue(): readonly QueuedInput[] {
    return queuedInputsIn(this.state);
  }
}

/** The error of selecting a slice that the session was not opened with. */
export function unknownSlice(name: string): HoldfastError {
  return new HoldfastError(
    'SLICE_UNKNOWN',
    `this session does not know the slice "${name}"; pass it to openSession({ slices })`,
  );
}
