/** A model for machines without an API key: follows fixed rules, based on the tool results. It keeps no state. */
import {
  type ConversationMessage,
  type Model,
  type ModelRequest,
  type ScriptedTurn,
  scriptedModel,
  textOf,
} from 'holdfast';
import { expenseTurn } from './expense-rules.ts';
import type { JobState } from './job-state.ts';
import { hotelTurn, tripTurn } from './trip-rules.ts';
import { HOTELS_KEY } from './trip-tools.ts';

/** Awaits `pace` before each word. */
export function ruleModel(pace: () => Promise<unknown>): Model {
  return scriptedModel(nextTurn, {
    modelId: 'rules',
    beforePart: async (part) => {
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') await pace();
    },
  });
}

function nextTurn({ messages, turn, prompt }: ModelRequest): ScriptedTurn {
  const from = openingOf(messages, turn);
  const results = messages.slice(from).filter((message) => message.role === 'tool');
  const opening = messages[from];
  const job: JobState = {
    request: opening ? textOf(opening) : '',
    turn,
    results: (tool) => results.filter(({ toolName }) => toolName === tool),
    said: (tool) => results.filter(({ toolName }) => toolName === tool).map(textOf),
  };
  const next = prompt.key === HOTELS_KEY ? hotelTurn(job) : ruleFor(job.request)(job);
  return acknowledged(next, messages);
}

function ruleFor(request: string): (job: JobState) => ScriptedTurn {
  if (/\bexpenses?\b/i.test(request)) return expenseTurn;
  if (/\b(?:trip|plan|travel|visit)\b/i.test(request)) return tripTurn;
  return chatTurn;
}

function chatTurn({ request }: JobState): ScriptedTurn {
  const short = request.length > 80 ? `${request.slice(0, 79)}…` : request;
  return [
    `You wrote: “${short}”. I am a model of fixed rules, so that this demo needs no API key, and I know two jobs.`,
    '- **Plan a trip to Porto**, or to any other city: parallel tools, a subagent, and a booking that you approve.',
    '- **File my expenses** again.',
    'Press **Kill** at any moment, also now, while I write this sentence: this process ends at once, and the next one continues. With `--model openai/gpt-5` a real model does the same work.',
  ].join('\n\n');
}

/** The index of the message that began this evaluation: the newest of the user before its first response. */
function openingOf(messages: readonly ConversationMessage[], turn: number): number {
  let responses = turn - 1;
  for (let index = messages.length - 1; index >= 0; index--) {
    const role = messages[index]?.role;
    if (role === 'assistant') responses--;
    else if (role === 'user' && responses <= 0) return index;
  }
  return 0;
}

/** Says that a steer was read: a message of the user that came after the results of a turn. */
function acknowledged(next: ScriptedTurn, messages: readonly ConversationMessage[]): ScriptedTurn {
  const last = messages.at(-1);
  if (last?.role !== 'user' || messages.at(-2)?.role !== 'tool') return next;
  const words = `Noted: “${textOf(last).slice(0, 80)}”.`;
  return typeof next === 'string' ? `${words} ${next}` : { ...next, text: `${words} ${next.text ?? ''}` };
}
