import type { Settlement } from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type {
  AbandonOptions,
  ApproveOptions,
  CancelOptions,
  DecisionOptions,
  DenyOptions,
  ResumeOptions,
  SessionDecisions,
  Stopped,
} from '../../core/views/session-decisions.ts';
import { StateView } from '../../core/views/state-view.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { AnySession } from '../session.ts';
import { approveCall, denyCall, settleCall } from './call-decisions.ts';
import { cancelEvaluation, stopSession } from './cancel-evaluation.ts';
import { abandonEvaluation, resumeWork } from './evaluation-decisions.ts';

/** A session that people decide about: the one implementation behind the methods, the server's routes and the hooks (D81). */
export abstract class DecidableSession extends StateView implements SessionDecisions {
  abstract readonly store: Store;
  abstract readonly incarnation: number;
  abstract readonly clock: Clock;
  abstract readonly summary: SessionSummary | undefined;
  abstract refresh(): Promise<void>;
  abstract append(...event: Parameters<AnySession['append']>): ReturnType<AnySession['append']>;
  abstract withdraw(...input: Parameters<AnySession['withdraw']>): ReturnType<AnySession['withdraw']>;

  approve(call: CallRef, options?: ApproveOptions): Promise<void> {
    return approveCall(this, call, options);
  }

  deny(call: CallRef, options?: DenyOptions): Promise<void> {
    return denyCall(this, call, options);
  }

  settle(call: CallRef, how: Settlement, options?: DecisionOptions): Promise<void> {
    return settleCall(this, call, how, options);
  }

  cancel(options?: CancelOptions): Promise<void> {
    return cancelEvaluation(this, options);
  }

  stop(options?: DecisionOptions): Promise<Stopped> {
    return stopSession(this, options);
  }

  resume(options?: ResumeOptions): Promise<void> {
    return resumeWork(this, options);
  }

  abandon(options?: AbandonOptions): Promise<void> {
    return abandonEvaluation(this, options);
  }
}
