/** A chat in a session, and models that respond to its inputs. */

import type { RunOptions, RunResult } from '../../src/evaluate.ts';
import { type Model, type ModelRequest, type ScriptedTurn, textOf } from '../../src/index.ts';
import { type Agent, type AgentOptions, agent, call } from './agent.ts';

/** Responds to each user message with its text. */
export const ECHO = ({ messages }: ModelRequest): ScriptedTurn =>
  `You said: ${textOf(messages.findLast(isUser) as never)}`;

export const isUser = ({ role }: { readonly role: string }): boolean => role === 'user';

/** A model that responds with what `answer` returns. */
export function answering(answer: (asked: number, signal: AbortSignal | undefined) => Promise<string> | string): Model {
  let asked = 0;
  return {
    provider: 'test',
    modelId: 'test',
    async *stream({ signal }) {
      const text = await answer(++asked, signal);
      yield { type: 'finish', response: { content: [{ type: 'text', text }], toolCalls: [] } };
    },
  };
}

export interface Chat extends Agent {
  run(options?: Partial<RunOptions>): Promise<RunResult<unknown>>;
  /** The messages of the newest evaluation's requests, without instructions. */
  said(): readonly string[];
}

export async function chat(options: Partial<AgentOptions> = {}): Promise<Chat> {
  const made = await agent({ script: ECHO, ...options });
  const { session, adapter, prompt } = made;
  return {
    ...made,
    run: (more = {}) => adapter.run(prompt, { session, ...more }),
    said: () =>
      session
        .messages({ evaluationId: session.latestEvaluation()?.id, continued: true })
        .filter(({ role }) => role !== 'system')
        .map((message) => `${message.role}: ${textOf(message)}`),
  };
}

/** Calls `work` for the first message, and responds to the others as `ECHO` does. */
export const WORK_FIRST = (request: ModelRequest): ScriptedTurn =>
  request.messages.filter(isUser).length === 1 && request.turn === 1 ? { toolCalls: [call('work')] } : ECHO(request);
