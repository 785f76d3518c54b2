/** An agent that pays with a card whose number `redact` hides, and everything that a reader of its session sees. */
import { expect } from 'vitest';
import { type CallRef, callKey } from '../../src/core/log/messages.ts';
import type { EvaluateOptions } from '../../src/evaluate.ts';
import type { NewEvent, Session, SessionEvent, Store } from '../../src/index.ts';
import { exportConversation } from '../../src/transcripts.ts';
import { type Agent, type AgentOptions, agent, call, tool } from './agent.ts';

export const SECRET = '4111-1111';

export const OTHER = '4222-2222';

export const EXACT = { card: SECRET };

export const hide = (text: string): string => text.replaceAll(SECRET, '[card]').replaceAll(OTHER, '[card]');

export const redact = (event: NewEvent): NewEvent => JSON.parse(hide(JSON.stringify(event))) as NewEvent;

export async function logOf(session: Session): Promise<readonly SessionEvent[]> {
  const log: SessionEvent[] = [];
  for await (const event of session.events()) log.push(event);
  return log;
}

/** Everything readable of a session, except the contents of its calls. */
export async function shown({ session, store, events }: Pick<Agent, 'session' | 'store' | 'events'>): Promise<string> {
  await session.compact();
  const found = await store.search?.('4111');
  const exported = exportConversation(session.messages(), { format: 'markdown' }).content;
  const fork = await session.fork();
  const everything = [
    await logOf(session),
    await logOf(fork),
    events,
    await session.snapshot({ contents: true }),
    await store.readSnapshot(session.id),
    await store.readDraft(session.id),
    found ?? [],
    exported,
    session.pending(),
  ];
  return JSON.stringify(everything);
}

/** The stored contents of a session's only call. */
export function contentOf(store: Store, ref: CallRef | undefined): Promise<string | undefined> {
  return store.readCallContent('session', callKey(ref as CallRef));
}

export interface Paying extends Agent {
  readonly given: unknown[];
  /** Ends the first run while the tool runs, as a crash would: the call stays open in the log. */
  interrupt(options?: EvaluateOptions): Promise<CallRef>;
  /** Another process on the same store. */
  again(options?: Partial<AgentOptions>): Promise<Paying>;
}

/** An agent with one call, "pay", whose argument is a secret. */
export async function paying(
  rest: Parameters<typeof tool>[2] = {},
  options: Partial<AgentOptions> = {},
  given: unknown[] = [],
): Promise<Paying> {
  let hangs = false;
  const stop = new AbortController();
  const pay = tool(
    'pay',
    async (input) => {
      given.push(input);
      if (!hangs) return 'paid';
      stop.abort(new Error('the process ends'));
      return new Promise(() => {});
    },
    rest,
  );
  const made = await agent({
    script: [{ toolCalls: [call('pay', EXACT)] }, 'ok'],
    tools: [pay],
    redact,
    ...options,
  });
  const { store } = made;
  return {
    ...made,
    given,
    async interrupt(more = {}) {
      hangs = true;
      expect(await made.evaluate({ ...more, signal: stop.signal })).toMatchObject({
        status: 'suspended',
        reason: 'CANCELLED',
      });
      return made.session.pending()[0] as CallRef;
    },
    again: (more = {}) => paying(rest, { ...options, ...more, store }, given),
  };
}
