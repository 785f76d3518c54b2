/**
 * The agent that the chaos test disturbs: parallel calls of every effect, approval, children with keys, a subagent, streamed text.
 * Its model's responses depend only on the turn, so an undisturbed run gives the expected result of each conversation.
 */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { createAdapter, definePrompt, type EvaluationResponse, type Prompt } from '../../src/evaluate.ts';
import {
  type AnySession,
  type AnyTool,
  type ConversationMessage,
  defineSubagent,
  defineTool,
  type ScriptedTurn,
  scriptedModel,
} from '../../src/index.ts';
import type { Outside } from './outside.ts';

/** Short, so that a stopped process loses its lease soon. */
export const LEASE_MS = 500;
/** The turn whose response is erased as soon as the next one is recorded. */
export const ERASED_TURN = 2;

const STORY = 'The agent tells a story that is long enough to be streamed as several chunks of a draft. '.repeat(3);
const call = (name: string, path: string): { readonly name: string; readonly arguments: unknown } => ({
  name,
  arguments: { path },
});

const MAIN: readonly ScriptedTurn[] = [
  { text: 'Three at once.', toolCalls: [call('look', 'a'), call('write', 'b'), call('pay', 'c'), call('pay', 'd')] },
  { text: `This is erased. ${STORY}`, toolCalls: [call('write', 'e'), call('write', 'f')] },
  { text: 'May I?', toolCalls: [call('deploy', 'g'), call('look', 'h')] },
  { text: 'Others help.', toolCalls: [call('research', 'i'), call('pay', 'j')] },
  { text: STORY, toolCalls: [{ name: 'ask', arguments: { input: 'k' } }, call('write', 'l')] },
  `All is done. ${STORY}`,
];
const CHILD: readonly ScriptedTurn[] = [
  { text: 'A child.', toolCalls: [call('write', 'm'), call('pay', 'n')] },
  `Found it. ${STORY}`,
];

/** How many calls of each tool have an effect outside: those of the main conversation and of three children. */
export const ACTING_CALLS: Readonly<Record<string, number>> = { pay: 3 + 3, deploy: 1, write: 4 + 3 };
export const ONCE_TOOLS: readonly string[] = ['pay', 'deploy'];

const input = z.object({ path: z.string() });

function mainPrompt(outside: Outside, paceMs: number): Prompt {
  const acting = (name: string, rest: Partial<Pick<AnyTool, 'effect' | 'needsApproval' | 'reconcile'>>): AnyTool =>
    defineTool({
      name,
      description: name,
      input,
      async execute({ path }, context) {
        // Some are disturbed between the recorded start and the effect, most between the effect and its result.
        if (name === 'pay') await setTimeout(paceMs * 5);
        context.signal.throwIfAborted();
        outside.act(context, name);
        await setTimeout(paceMs * 25);
        return `${name} ${path} done`;
      },
      ...rest,
    });
  const reconcile =
    (name: string): NonNullable<AnyTool['reconcile']> =>
    ({ path }: { readonly path: string }, context) =>
      outside.hasActed(context) ? { happened: true, result: `${name} ${path} done` } : { happened: false };
  const look = defineTool({
    name: 'look',
    description: 'look',
    input,
    effect: 'read',
    execute: async ({ path }) => `${path} seen`,
  });
  const write = acting('write', { effect: 'idempotent' });
  const pay = acting('pay', { effect: 'once', reconcile: reconcile('pay') });
  const deploy = acting('deploy', { effect: 'once', needsApproval: true, reconcile: reconcile('deploy') });
  const child = definePrompt({ ns: 'chaos', key: 'child', instructions: 'Help.', tools: [write, pay] });
  const research = defineTool({
    name: 'research',
    description: 'research',
    input,
    effect: 'idempotent',
    async execute({ path }, context) {
      const children = ['one', 'two'].map((key) => context.evaluate(child, { input: path, key }));
      return (await Promise.all(children)).map(({ text }) => text).join('\n');
    },
  });
  const ask = defineSubagent({ name: 'ask', description: 'ask', prompt: child });
  const tools = [look, write, pay, deploy, research, ask];
  return definePrompt({ ns: 'chaos', key: 'main', instructions: 'Do it.', tools });
}

/** Starts the conversation, or continues it. */
export function runAgent(
  session: AnySession,
  outside: Outside,
  { paceMs = 0 }: { readonly paceMs?: number } = {},
): Promise<EvaluationResponse<unknown>> {
  const model = scriptedModel(
    ({ turn, prompt }) => (prompt.key === 'child' ? CHILD : MAIN)[turn - 1] ?? 'There is no such turn.',
    { beforePart: () => (paceMs > 0 ? setTimeout(paceMs) : undefined) },
  );
  const adapter = createAdapter({ model, leaseTtlMs: LEASE_MS });
  return adapter.evaluate(mainPrompt(outside, paceMs), { session, input: 'Please.', resume: 'auto' });
}

/** The response to erase: only while none of its calls is open. */
export function erasable(session: AnySession): ConversationMessage | undefined {
  const main = session.messages();
  const isLater = main.some(({ role, turn }) => role === 'assistant' && turn > ERASED_TURN);
  return isLater ? main.find(({ role, turn }) => role === 'assistant' && turn === ERASED_TURN) : undefined;
}
