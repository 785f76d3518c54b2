import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFold, type SessionState } from '../../src/core/fold/fold.ts';
import { queuedAfter } from '../../src/core/fold/session-inputs.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { planRun, type RunStep } from '../../src/core/plan/run-plan.ts';
import { type Draft, messageOf, recorded, started, timeOf } from './log.ts';

/** D61: the run plan and the summary are two folds of the same log, and agree. */

/** A log that grows by events that a session would append, never by ones that it would reject. */
class Conversation {
  readonly #fold = createFold();
  state: SessionState = this.#fold.initial;
  #evaluations = 0;
  #inputs = 0;

  append(...drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      const seq = this.state.seq + 1;
      this.state = this.#fold.apply(this.state, { ...draft, seq, at: timeOf(seq) } as SessionEvent);
    }
  }

  get newest() {
    return this.state.record.evaluations.items.at(-1);
  }

  step(tried: readonly string[] = []): RunStep {
    return planRun(this.state, { now: 0, tried: new Set(tried) });
  }

  send(mode: 'next' | 'steer' = 'next'): void {
    const content = [{ type: 'text', text: 'x' }];
    this.append({ type: 'input/queued', inputId: `m${++this.#inputs}`, mode, content });
  }

  withdraw(place: number): void {
    const queued = queuedAfter(this.state.record.inbox, 0);
    const item = queued[place % queued.length];
    if (item) this.append({ type: 'input/withdrawn', inputId: item.id, queuedSeq: item.seq });
  }

  /** Starts with an input, if the plan has that step, or otherwise. */
  begin(): void {
    const step = this.step(this.newest ? [this.newest.id] : []);
    const evaluationId = `e${++this.#evaluations}`;
    const older = this.newest && ['running', 'suspended'].includes(this.newest.status) ? [this.newest.id] : [];
    this.append(
      ...older.map((id) => ({ type: 'evaluation/superseded', evaluationId: id, by: evaluationId })),
      started(evaluationId, step.do === 'begin' && step.continues ? { continues: step.continues } : {}),
      recorded(messageOf('user', 'x', 0, { evaluationId }), step.do === 'begin' ? { inputId: step.input.id } : {}),
    );
  }

  /** Appends an event of the newest evaluation, if there is one. */
  say(draft: Record<string, unknown> & { readonly type: string }): void {
    if (this.newest) this.append({ evaluationId: this.newest.id, ...draft });
  }
}

const suspended = (reason: string) => ({ type: 'evaluation/suspended', reason, message: '', pending: [] });
/** Only a running evaluation is suspended: a suspended one is resumed first. */
const suspend = (log: Conversation, reason: string): void => {
  if (log.newest?.status === 'running') log.say(suspended(reason));
};
const FAILED = { type: 'evaluation/failed', error: { code: 'EVALUATION_FAILED', message: 'no' } };

const OPERATIONS = {
  send: (log: Conversation) => log.send(),
  steer: (log: Conversation) => log.send('steer'),
  withdraw: (log: Conversation, n: number) => log.withdraw(n),
  begin: (log: Conversation) => log.begin(),
  requestCancel: (log: Conversation) => log.say({ type: 'evaluation/cancel-requested' }),
  stop: (log: Conversation) => suspend(log, 'CANCELLED'),
  failProvider: (log: Conversation) => suspend(log, 'PROVIDER_FAILED'),
  await: (log: Conversation) => suspend(log, 'APPROVAL_REQUIRED'),
  resume: (log: Conversation, n: number) =>
    log.say({ type: 'evaluation/resumed', attempt: 2, by: 'p', after: Math.max(0, log.state.seq - n) }),
  complete: (log: Conversation) => log.say({ type: 'evaluation/completed' }),
  fail: (log: Conversation) => log.say(FAILED),
  abandon: (log: Conversation) => log.say({ type: 'evaluation/superseded' }),
};
const names = Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[];
const operation = fc.tuple(fc.constantFrom('send' as const, ...names), fc.nat({ max: 3 }));

test('a listing shows an input as work exactly when a run would start with it', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
      const log = new Conversation();
      for (const [name, n] of operations) {
        OPERATIONS[name](log, n);
        const step = log.step(log.newest ? [log.newest.id] : []);
        expect([step.do === 'begin', log.state.summary?.queued ?? 0]).toEqual([
          log.state.summary?.work === 'input',
          log.state.record.inbox.queued,
        ]);
      }
    }),
    { numRuns: 2000 },
  );
});

describe('the next evaluation continues', () => {
  test('the newest one, or the one that an abandoned one continued', () => {
    const log = new Conversation();
    log.send();
    expect(log.step()).not.toHaveProperty('continues');
    log.begin();
    log.say({ type: 'evaluation/completed' });
    log.send();
    expect(log.step()).toMatchObject({ do: 'begin', continues: 'e1' });
    log.begin();
    log.say(FAILED);
    log.send();
    expect(log.step()).toMatchObject({ do: 'wait', evaluation: { id: 'e2', status: 'failed' } });
    log.say({ type: 'evaluation/superseded' });
    expect(log.step()).toMatchObject({ do: 'begin', continues: 'e1' });
  });

  test('none, when the first one was abandoned', () => {
    const log = new Conversation();
    log.begin();
    log.say(suspended('PROVIDER_FAILED'));
    log.say({ type: 'evaluation/superseded' });
    log.send();
    expect(log.step()).toMatchObject({ do: 'begin' });
    expect(log.step()).not.toHaveProperty('continues');
  });
});
