/**
 * The agent that the workers of the chaos test run: parallel calls of every effect, approval, a timer, children, chat and steers. Its
 * model's responses depend only on the conversation, so an undisturbed run gives the expected result.
 */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { createAdapter, definePrompt, type Prompt } from '../../../src/evaluate.ts';
import {
  type Agent,
  type AnySession,
  type AnyTool,
  type ConversationMessage,
  createAgent,
  defineTool,
  type ModelRequest,
  type ScriptedTurn,
  scriptedModel,
  suspendUntil,
  textOf,
} from '../../../src/index.ts';
import type { Outside } from '../../chaos/outside.ts';

const call = (name: string, path: string): { readonly name: string; readonly arguments: unknown } => ({
  name,
  arguments: { path },
});

const TASK: readonly ScriptedTurn[] = [
  { text: 'All at once.', toolCalls: [call('look', 'a'), call('write', 'b'), call('pay', 'c'), call('pay', 'd')] },
  { text: 'May I?', toolCalls: [call('deploy', 'e'), call('later', 'f')] },
  { text: 'Others help.', toolCalls: [call('research', 'g'), call('pay', 'h')] },
  'The task is done.',
];
const CHILD: readonly ScriptedTurn[] = [{ toolCalls: [call('write', 'i'), call('pay', 'j')] }, 'The child is done.'];

/** How many calls of each tool act in one session: those of the main conversation and of two children. */
export const ACTING_CALLS: Readonly<Record<string, number>> = { pay: 3 + 2, deploy: 1, write: 1 + 2 };
export const ONCE_TOOLS: readonly string[] = ['pay', 'deploy'];
/** How long the tool `later` waits: the shortest time that a timer has. */
export const TIMER_MS = 1000;

const input = z.object({ path: z.string() });

function taskPrompt(outside: Outside, paceMs: number): Prompt {
  const acting = (name: string, rest: Partial<Pick<AnyTool, 'effect' | 'needsApproval' | 'reconcile'>>): AnyTool =>
    defineTool({
      name,
      description: name,
      input,
      async execute({ path }, context) {
        if (name === 'pay') await setTimeout(paceMs * 5);
        context.signal.throwIfAborted();
        outside.act(context, name);
        await setTimeout(paceMs * 20);
        return `${name} ${path} done`;
      },
      ...rest,
    });
  const reconcile =
    (name: string): NonNullable<AnyTool['reconcile']> =>
    ({ path }: { readonly path: string }, context) =>
      outside.hasActed(context) ? { happened: true, result: `${name} ${path} done` } : { happened: false };
  const reading = (name: string, execute: AnyTool['execute']): AnyTool =>
    defineTool({ name, description: name, input, effect: 'read', execute });
  const write = acting('write', { effect: 'idempotent' });
  const pay = acting('pay', { effect: 'once', reconcile: reconcile('pay') });
  const child = definePrompt({ ns: 'chaos', key: 'child', instructions: 'Help.', tools: [write, pay] });
  const tools = [
    reading('look', ({ path }) => `${path} seen`),
    reading('later', ({ path }, { attempt }) =>
      attempt === 1 ? suspendUntil(Date.now() + TIMER_MS) : `${path} is ready`,
    ),
    write,
    pay,
    acting('deploy', { effect: 'once', needsApproval: true, reconcile: reconcile('deploy') }),
    defineTool({
      name: 'research',
      description: 'research',
      input,
      effect: 'idempotent',
      async execute({ path }, context) {
        const children = ['one', 'two'].map((key) => context.evaluate(child, { input: path, key }));
        return (await Promise.all(children)).map(({ text }) => text).join('\n');
      },
    }),
  ];
  return definePrompt({ ns: 'chaos', key: 'task', instructions: 'Do it.', tools });
}

export const isSteer = (message: ConversationMessage): boolean =>
  message.role === 'user' && textOf(message).startsWith('steer');

/** The message that began the evaluation: steers may follow it before the first response. */
export function opening({ messages, turn }: Pick<ModelRequest, 'messages' | 'turn'>): string {
  let end = messages.length;
  for (let responses = turn - 1; responses > 0 && end > 0; ) if (messages[--end]?.role === 'assistant') responses--;
  let begin = messages.slice(0, end).findLastIndex(({ role }) => role === 'user');
  const before = (): ConversationMessage | undefined => messages[begin - 1];
  while (isSteer(messages[begin] as ConversationMessage) && before()?.role === 'user') begin--;
  const message = messages[begin];
  return message ? textOf(message) : '';
}

/** Runs any session of the test. */
export function chaosAgent(
  outside: Outside,
  { paceMs = 0, leaseMs }: { readonly paceMs?: number; readonly leaseMs?: number } = {},
) {
  const model = scriptedModel((request) => {
    if (request.prompt.key === 'child') return CHILD[request.turn - 1] ?? 'There is no such turn.';
    const said = opening(request);
    return said.startsWith('task') ? (TASK[request.turn - 1] ?? 'There is no such turn.') : `You said: ${said}`;
  });
  const adapter = createAdapter({ model, ...(leaseMs !== undefined && { leaseTtlMs: leaseMs }) });
  const prompt = taskPrompt(outside, paceMs);
  return (_: AnySession): Agent<unknown> => createAgent({ adapter, prompt });
}
