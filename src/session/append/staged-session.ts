import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { Fold, SessionState } from '../../core/fold/fold.ts';
import type { AnySlice } from '../../core/fold/slices.ts';
import type { NewEvent } from '../../core/log/events.ts';
import type { SessionView } from '../../core/views/session-view.ts';
import { StateView } from '../../core/views/state-view.ts';
import type { Dispatched } from '../session.ts';
import type { EventIntake } from './event-intake.ts';

/**
 * A transaction: its events are visible only here until the code that opened it appends all of them at once. It reads its
 * base with its own events on top, never a sibling's.
 */
export class StagedSession<Slices extends readonly AnySlice[] = readonly AnySlice[]> extends StateView {
  readonly #base: Pick<SessionView, 'id' | 'state'>;
  readonly #fold: Fold;
  readonly #intake: EventIntake;
  readonly #staged: NewEvent[] = [];
  #closed = false;
  #warned = false;
  #seen: { readonly base: SessionState; readonly count: number; readonly state: SessionState } | undefined;

  /** A base whose state changes shows its newest state here; a transaction passes the one that it began with. */
  constructor(base: Pick<SessionView, 'id' | 'state'>, fold: Fold, intake: EventIntake) {
    super();
    this.#base = base;
    this.#fold = fold;
    this.#intake = intake;
  }

  get id(): string {
    return this.#base.id;
  }

  /** The session's state with the staged events on top. */
  get state(): SessionState {
    const base = this.#base.state;
    const seen = this.#seen;
    const isSame = seen?.base === base;
    if (isSame && seen.count === this.#staged.length) return seen.state;
    let state = isSame ? seen.state : base;
    for (const event of this.#staged.slice(isSame ? seen.count : 0))
      state = this.#fold.apply(state, this.#intake.asCommitted(event, state.seq + 1));
    this.#seen = { base, count: this.#staged.length, state };
    return state;
  }

  /**
   * Stages an event. Resolves at once: it is durable when the transaction is. A rejection that the handler does not await becomes a
   * process warning: it must not end the process.
   */
  dispatch<const Type extends string>(event: Dispatched<Slices, Type>): Promise<void> {
    const staged = this.#stage(event as { readonly type: string });
    staged.catch((error) => this.#warn(error));
    return staged;
  }

  async #stage(event: { readonly type: string }): Promise<void> {
    if (this.#closed) {
      throw new HoldfastError(
        'SESSION_CLOSED',
        'this transaction has ended; dispatch before the tool returns, and await what it starts',
      );
    }
    const ready = this.#intake.prepare(event);
    this.#intake.checkDeclared(ready);
    this.#staged.push(ready);
  }

  #warn(error: unknown): void {
    if (!this.#warned) process.emitWarning(`an event was not recorded: ${messageOf(error)}`, 'HoldfastWarning');
    this.#warned = true;
  }

  /** Always refused: a restore is not part of a transaction. */
  async restore(): Promise<never> {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'a session cannot be restored inside a tool; restore it between evaluations',
    );
  }

  /** Ends the transaction and returns the staged events. */
  close(): readonly NewEvent[] {
    this.#closed = true;
    return this.#staged;
  }
}
