import { expect, test } from 'vitest';
import { textOf } from '../../src/core/log/messages.ts';
import { curateRequest } from '../../src/history/curate-request.ts';
import type { History } from '../../src/history/history-manager.ts';
import { keepImportant } from '../../src/history/managers/keep-important.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import type { ModelRequest } from '../../src/index.ts';
import { agent, call, tool } from '../loop/agent.ts';
import { Conversation } from './conversation.ts';

const managers: readonly { readonly name: string; readonly history: History }[] = [
  { name: 'slidingWindow', history: slidingWindow({ size: 1 }) },
  { name: 'slidingWindow of size 0', history: slidingWindow({ size: 0 }) },
  { name: 'a folding slidingWindow', history: slidingWindow({ size: 4, low: 1 }) },
  { name: 'tokenBudget', history: tokenBudget({ max: 60 }) },
  { name: 'keepImportant', history: keepImportant({ size: 0, score: () => 0 }) },
  { name: 'summarize', history: summarize({ size: 2, low: 1 }) },
  { name: 'a function', history: (messages) => messages.slice(-2) },
];

/** Two evaluations: the second is steered twice while it works. */
function steered(): Conversation {
  const first = new Conversation('e1').system('Be brief.').user('first question').calls('a').says('one');
  const second = new Conversation('e2', first.messages).user('second question').calls('b').calls('c');
  return second.user('rather this').calls('d').calls('e').user('and that').calls('f').calls('g');
}

test.for(managers)('D61: $name keeps the message that started the evaluation and the newest steer', ({ history }) => {
  const { messages } = curateRequest({ history, messages: steered().messages, context: { summaries: () => 'before' } });
  const said = messages.filter(({ role, synthetic }) => role === 'user' && !synthetic).map(textOf);
  expect(said).toEqual(expect.arrayContaining(['second question', 'and that']));
  expect(said).not.toContain('rather this');
});

test('D61: limits keep the message that started the evaluation in a request', () => {
  const { messages, record } = curateRequest({ messages: steered().messages, context: { limits: { maxTokens: 60 } } });
  const said = messages.filter(({ role }) => role === 'user').map(textOf);
  expect(said).toEqual(['first question', 'second question', 'and that']);
  expect(record.estimatedTokens).toBeLessThanOrEqual(60);
});

test('D61: the report of a manager that dropped the message names it', () => {
  const { repairs } = curateRequest({ history: (messages) => messages.slice(-6), messages: steered().messages });
  expect(repairs.map(({ code, repair }) => `${code}: ${repair}`)).toContain(
    'opening-lost: the message that began the evaluation is put back',
  );
});

test('D61: in the loop, every request after a steer has the message that started the evaluation', async () => {
  const script = ({ turn }: ModelRequest) => (turn > 6 ? 'done' : { toolCalls: [call('work', { turn })] });
  const work = tool(
    'work',
    async (input) => {
      const { turn } = input as { readonly turn: number };
      if (turn === 2 || turn === 4) await one.session.send(`steer ${turn}`, { mode: 'steer' });
      return 'worked';
    },
    { effect: 'read' },
  );
  const one = await agent({ script, tools: [work] });
  const history = slidingWindow({ size: 1 });
  const { evaluationId } = await one.evaluate({ input: 'An earlier question.', history });
  one.requests.length = 0;
  await one.evaluate({ input: 'The question.', continues: evaluationId, history });
  const users = one.requests.map(({ messages }) => messages.filter(({ role }) => role === 'user').map(textOf));
  expect(users.at(-1)).toEqual(['An earlier question.', 'The question.', 'steer 4']);
  for (const said of users) expect(said).toContain('The question.');
});
