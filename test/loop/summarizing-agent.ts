/** An agent whose history manager requests summaries ahead of their use (D56). */
import { setImmediate } from 'node:timers/promises';
import { summarize } from '../../src/history.ts';
import {
  type Model,
  type ModelRequest,
  type Session,
  type SessionEvent,
  scriptedModel,
  textOf,
} from '../../src/index.ts';
import { type Agent, type AgentOptions, agent, call, tool } from './agent.ts';

export const TURNS = 12;

export const usage = { inputTokens: 100, outputTokens: 10 };

export const ahead = summarize({ size: 6, low: 4, ahead: 3 });

export const onTime = summarize({ size: 6, low: 4 });

export const isSummary = ({ prompt }: ModelRequest): boolean => prompt.ns === 'holdfast';

export const turnsOf = ({ requests }: Agent): readonly ModelRequest[] =>
  requests.filter((request) => !isSummary(request));

export const summariesOf = ({ requests }: Agent): readonly ModelRequest[] => requests.filter(isSummary);

export const work = tool('work', (input) => `worked on ${JSON.stringify(input)}`, { effect: 'read' });

/** An agent that works for a number of turns; `summary` returns the texts of its summaries. */
export function worker(
  options: Partial<AgentOptions> & {
    readonly turns?: number;
    readonly summary?: (request: ModelRequest) => Promise<string>;
    readonly said?: (request: ModelRequest) => Promise<void> | void;
  } = {},
): Promise<Agent> {
  const { turns = TURNS, summary, said, ...rest } = options;
  const texts = new WeakMap<ModelRequest, string>();
  const model: Model = scriptedModel(
    (request) => {
      if (isSummary(request)) return { text: 'placeholder', usage };
      return request.turn > turns
        ? { text: 'done', usage }
        : { toolCalls: [call('work', { turn: request.turn })], usage };
    },
    {
      beforePart: async (part, request) => {
        if (part.type !== 'finish') return;
        if (isSummary(request)) texts.set(request, (await summary?.(request)) ?? textOf(lastOf(request)));
        else await said?.(request);
      },
    },
  );
  // A summary contains the texts that it was created from.
  const script: Model = {
    ...model,
    async *stream(request) {
      for await (const part of model.stream(request)) {
        const text = texts.get(request);
        yield part.type === 'finish' && text !== undefined
          ? { type: 'finish', response: { ...part.response, content: [{ type: 'text', text: `[${text.length}]` }] } }
          : part;
      }
    },
  };
  return agent({ script, tools: [work], ...rest });
}

export function lastOf({ messages }: ModelRequest): ModelRequest['messages'][number] {
  const message = messages.at(-1);
  if (!message) throw new Error('an empty request');
  return message;
}

export async function eventsOf(session: Session): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}

export const resultsIn = ({ session }: Agent): number =>
  session.state.record.messages.filter(({ role }) => role === 'tool').length;

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

export const said = (requests: readonly ModelRequest[]): readonly unknown[] =>
  requests.map(({ messages }) => messages.map(({ role, content }) => [role, content]));
