/** A worker in this process, on any store. */
import { onTestFinished } from 'vitest';
import { definePrompt, type Prompt } from '../../src/evaluate.ts';
import {
  type Agent,
  createAgent,
  memoryStore,
  openSession,
  type Session,
  type Store,
  scriptedModel,
} from '../../src/index.ts';
import { createWorker, type Worker, type WorkerOptions } from '../../src/worker.ts';

export const chat: Prompt = definePrompt({ ns: 'test', key: 'chat', instructions: 'Be kind.' });

/** Runs every session with a model that repeats the last message. */
export function echoing(): Agent {
  const model = scriptedModel(({ messages }) => `You said: ${JSON.stringify(messages.at(-1)?.content)}`);
  return createAgent({ model, prompt: chat });
}

export interface Working {
  readonly worker: Worker;
  readonly store: Store;
  readonly errors: unknown[];
}

/** A started worker, which the test stops at its end. */
export function work(options: Partial<WorkerOptions> = {}): Working {
  const store = options.store ?? memoryStore();
  const errors: unknown[] = [];
  const worker = createWorker({
    agents: echoing,
    pollMs: 20,
    onError: (error) => errors.push(error),
    ...options,
    store,
  });
  onTestFinished(() => worker.stop({ drainMs: 0 }));
  worker.start();
  return { worker, store, errors };
}

/** Waits until a session's summary satisfies a condition: looks again after each append. */
export async function untilSession(
  store: Store,
  id: string,
  condition: (session: Session) => boolean,
): Promise<Session> {
  const session = await openSession({ store, id });
  for await (const _ of session.events({ live: true })) {
    await session.refresh();
    if (condition(session)) break;
  }
  return session;
}

/** Sends an input to a session. */
export async function send(store: Store, id: string, text = 'Hello'): Promise<Session> {
  const session = await openSession({ store, id });
  await session.send(text);
  return session;
}

export const isCompleted = ({ summary }: Session): boolean =>
  summary?.status === 'completed' && summary.work === undefined;
