/**
 * The agents whose conversations are in the fixture databases. The generator ran them until a kill or a suspension, the tests
 * resume them. Prompts and schemas must stay as they are: an evaluation is only resumed by the prompt that started it (D4).
 * The schemas are written by hand, so that an update of a schema library cannot change the hash of a prompt.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { definePrompt, type Prompt } from '../../../../src/evaluate.ts';
import { type AnyTool, defineSlice, defineTool, type ScriptedTurn, type ToolContext } from '../../../../src/index.ts';

/** The environment outside the process, where the tools act. */
export interface Outside {
  /** Called by each tool at the point where it acts. */
  act(name: string, path: string, context: ToolContext): void | Promise<void>;
}

export const steps = defineSlice({
  name: 'steps',
  initial: [] as string[],
  on: { 'step/taken': (items, event: { readonly step: string }) => [...items, event.step] },
});

const input: StandardSchemaV1<unknown, { readonly path: string }> = {
  '~standard': {
    version: 1,
    vendor: 'fixture',
    validate: (value) => ({ value: value as { readonly path: string } }),
  },
};
const jsonSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

/** Long enough to be external content by `MAX_INLINE_LENGTH`, with characters that a driver could lose. */
export const LARGE_TEXT: string = `page \u0000 🪝 ${'the harbour log says nothing new. '.repeat(60)}lighthouse \ud83d`;
export const MAX_INLINE_LENGTH = 1000;
export const ODD_TEXT = 'NUL \u0000, half a pair \ud83d, a hook 🪝, Ünïcödé';
export const ODD_SESSION = 'late: "quoted" \'id\' 100% 🪝';

function tools({ act }: Outside): readonly AnyTool[] {
  const common = { input, jsonSchema };
  const tool = (name: string, effect: AnyTool['effect'], more: Partial<AnyTool> = {}): AnyTool =>
    defineTool({
      ...common,
      name,
      effect,
      description: `Does ${name}`,
      execute: async ({ path }, context) => {
        await act(name, path, context);
        return `${name} ${path} done`;
      },
      ...more,
    });
  return [
    tool('look', 'read'),
    tool('write', 'idempotent'),
    tool('pay', 'once'),
    tool('release', 'once', { needsApproval: true }),
    tool('fetch', 'read', {
      execute: async ({ path }, context) => {
        await act('fetch', path, context);
        return path === 'odd' ? ODD_TEXT : LARGE_TEXT;
      },
    }),
    tool('step', 'idempotent', {
      execute: async ({ path }, context) => {
        await context.session.dispatch({ type: 'step/taken', step: path });
        await act('step', path, context);
        return `now ${context.session.select(steps).all().length} steps`;
      },
    }),
  ];
}

/** The prompt of every session. Its tool `delegate` runs a child conversation. */
export function workPrompt(outside: Outside): Prompt {
  const own = tools(outside);
  const child = definePrompt({ ns: 'fixture', key: 'child', instructions: 'Research it.', tools: own });
  const delegate = defineTool({
    input,
    jsonSchema,
    name: 'delegate',
    description: 'Asks another agent',
    effect: 'idempotent',
    execute: async ({ path }, context) => (await context.evaluate(child, { input: path })).text,
  });
  return definePrompt({
    ns: 'fixture',
    key: 'work',
    instructions: 'Work for {{who}}.',
    tools: [...own, delegate],
  });
}

/** The input of an evaluation of the fixture. */
export const PARAMS = { who: 'the harbour' };

function calls(...wanted: readonly (readonly [name: string, path: string])[]): ScriptedTurn {
  return { text: 'I will.', toolCalls: wanted.map(([name, path]) => ({ name, arguments: { path } })) };
}

/** The model's responses in each session, by prompt and turn. */
export const SCRIPTS: Readonly<
  Record<string, { readonly work: readonly ScriptedTurn[]; readonly child?: readonly ScriptedTurn[] }>
> = {
  'open-calls': {
    work: [calls(['look', 'a'], ['write', 'b'], ['write', 'c'], ['pay', 'd'], ['look', 'e']), 'Five calls are done.'],
  },
  'approval-pending': { work: [calls(['look', 'a'], ['release', 'b']), 'The release was decided.'] },
  'approval-approved': { work: [calls(['look', 'a'], ['release', 'b']), 'The release was decided.'] },
  'approval-denied': { work: [calls(['look', 'a'], ['release', 'b']), 'The release was decided.'] },
  draft: {
    work: [
      calls(['write', 'a']),
      {
        reasoning: 'The tide table says noon 🪝 or later.',
        text: 'I will write the second file at noon.',
        toolCalls: [{ name: 'write', arguments: { path: 'b', why: 'the tide is high' } }],
      },
      'Both files are written.',
    ],
  },
  'contents-kept': { work: [calls(['fetch', 'log'], ['fetch', 'odd']), 'The log is read.'] },
  'contents-open': { work: [calls(['fetch', 'log']), calls(['write', 'copy']), 'The log is copied.'] },
  steps: { work: [calls(['step', 'b']), calls(['step', 'c']), 'The steps are taken.'] },
  'steps-fork': { work: [calls(['step', 'b']), calls(['step', 'c']), 'The steps are taken.'] },
  child: {
    work: [calls(['delegate', 'reef']), 'The reef is known.'],
    child: [calls(['look', 'chart']), calls(['write', 'map'], ['look', 'depth']), 'The reef is on the map.'],
  },
  chat: { work: ['Understood.'] },
  settled: { work: [calls(['pay', 'a']), 'It is paid.'] },
  'provider-failed': { work: [calls(['write', 'a']), 'The provider responds again.'] },
  [ODD_SESSION]: { work: [calls(['look', 'a']), 'The beacon is lit.'] },
};
