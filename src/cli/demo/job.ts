/**
 * The demo's job: read three receipts, write an expense report, mail it. The files are real; the mail is a file in an outbox and
 * represents an effect that must happen once.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import { type ConversationMessage, textOf } from '../../core/messages.ts';
import { definePrompt, type Prompt } from '../../loop/define-prompt.ts';
import { defineTool, type ToolContext } from '../../loop/define-tool.ts';
import { type ScriptedTurn, scriptedModel } from '../../models/scripted.ts';
import type { Model } from '../../ports/model.ts';

const RECEIPTS: Readonly<Record<string, string>> = {
  'train.txt': 'Train to Lisbon\nEUR 84.50\n',
  'hotel.txt': 'Hotel, two nights\nEUR 210.00\n',
  'dinner.txt': 'Dinner with the customer\nEUR 63.20\n',
};

export const REQUEST =
  'Please file my expenses: read the receipts, write report.md, and mail it to finance@example.com.';

/** Creates a workspace with the receipts. */
export function prepareWorkspace(dir: string): void {
  mkdirSync(join(dir, 'outbox'), { recursive: true });
  for (const [name, text] of Object.entries(RECEIPTS)) writeFileSync(join(dir, name), text);
}

/** How many times each call was executed, by any process. */
export function executionsIn(dir: string): ReadonlyMap<string, number> {
  const file = join(dir, EXECUTIONS);
  const counts = new Map<string, number>();
  for (const key of existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

const EXECUTIONS = 'executions.log';

/** The sent mails. */
export function mailsIn(dir: string): readonly string[] {
  return readdirSync(join(dir, 'outbox'));
}

/** Called when a mail was sent while its tool still runs, and with the result of `reconcile`. */
export interface JobListener {
  sent(): void;
  lookedUp(happened: boolean): void;
}

/** The agent's prompt, with tools that act on `dir` and record each execution there. */
export function expensePrompt(dir: string, listener: JobListener): Prompt {
  const note = ({ idempotencyKey }: ToolContext): void => appendFileSync(join(dir, EXECUTIONS), `${idempotencyKey}\n`);
  const pathOf = (name: string): string => {
    if (!/^[\w-]+\.(?:txt|md)$/.test(name))
      throw new HoldfastError('INVALID_ARGUMENT', `"${name}" is not a file of this workspace`);
    return join(dir, name);
  };
  const mailOf = (key: string): string => join(dir, 'outbox', `${key.replace(/\W+/g, '_')}.eml`);
  return definePrompt({
    ns: 'demo',
    key: 'expenses',
    instructions:
      'You file expenses. Work only with the tools. Say in one or two sentences what you did when all is done.',
    tools: [
      defineTool({
        name: 'list_files',
        description: 'Lists the files of the workspace',
        ...strings({}),
        effect: 'read',
        execute: (_, context) => {
          note(context);
          return readdirSync(dir)
            .filter((name) => name.endsWith('.txt'))
            .sort();
        },
      }),
      defineTool({
        name: 'read_file',
        description: 'Reads a file of the workspace',
        ...strings({ name: 'the file' }),
        effect: 'read',
        execute: ({ name }, context) => {
          note(context);
          return readFileSync(pathOf(name), 'utf8');
        },
      }),
      defineTool({
        name: 'write_file',
        description: 'Writes a file of the workspace',
        ...strings({ name: 'the file', text: 'its content' }),
        effect: 'idempotent',
        execute: ({ name, text }, context) => {
          note(context);
          writeFileSync(pathOf(name), text);
          return `${name}: ${text.length} characters`;
        },
      }),
      defineTool({
        name: 'send_mail',
        description: 'Sends a file of the workspace by mail',
        ...strings({ to: 'the address', file: 'the file to send' }),
        effect: 'once', // never repeated without a person's or `reconcile`'s decision: the recipient would get a second mail
        async execute({ to, file }, context) {
          note(context);
          writeFileSync(mailOf(context.idempotencyKey), `To: ${to}\n\n${readFileSync(pathOf(file), 'utf8')}`);
          listener.sent();
          await sleep(250); // as a slow mail server
          return `sent to ${to}`;
        },
        reconcile: ({ to }, { idempotencyKey }) => {
          const happened = existsSync(mailOf(idempotencyKey));
          listener.lookedUp(happened);
          return happened ? { happened, result: `sent to ${to}` } : { happened };
        },
      }),
    ],
  });
}

/** A schema of required strings, written by hand: the demo needs no schema library. */
function strings<const Fields extends Readonly<Record<string, string>>>(
  fields: Fields,
): {
  readonly input: StandardSchemaV1<unknown, { readonly [Name in keyof Fields]: string }>;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
} {
  const names = Object.keys(fields);
  return {
    input: {
      '~standard': {
        version: 1,
        vendor: 'holdfast-demo',
        validate: (value) => {
          const given = (value ?? {}) as Readonly<Record<string, unknown>>;
          const missing = names.filter((name) => typeof given[name] !== 'string');
          if (missing.length > 0)
            return { issues: missing.map((name) => ({ message: 'must be a string', path: [name] })) };
          return { value: given as { readonly [Name in keyof Fields]: string } };
        },
      },
    },
    jsonSchema: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(fields).map(([name, description]) => [name, { type: 'string', description }]),
      ),
      required: names,
      additionalProperties: false,
    },
  };
}

/** A model for machines without an API key: follows fixed rules, based on the tool results. */
export function ruleModel(pace: () => Promise<void>): Model {
  return scriptedModel(({ messages, turn }) => nextTurn(messages, turn), {
    modelId: 'rules',
    beforePart: (part) => (part.type === 'text-delta' ? pace() : undefined),
  });
}

function nextTurn(messages: readonly ConversationMessage[], turn: number): ScriptedTurn {
  const results = messages.filter((message) => message.role === 'tool');
  const said = (tool: string): readonly string[] => results.filter((result) => result.toolName === tool).map(textOf);
  switch (turn) {
    case 1:
      return { text: 'Let me see what is here.', toolCalls: [{ name: 'list_files', arguments: {} }] };
    case 2: {
      const files = JSON.parse(said('list_files')[0] ?? '[]') as readonly string[];
      return {
        text: `${files.length} receipts. I will read them.`,
        toolCalls: files.map((name) => ({ name: 'read_file', arguments: { name } })),
      };
    }
    case 3: {
      const text = report(said('read_file'));
      return {
        text: 'Now I know enough to write the report.',
        toolCalls: [{ name: 'write_file', arguments: { name: 'report.md', text } }],
      };
    }
    case 4:
      return {
        text: 'Off to finance.',
        toolCalls: [{ name: 'send_mail', arguments: { to: 'finance@example.com', file: 'report.md' } }],
      };
    default:
      return `I read ${said('read_file').length} receipts, wrote report.md with a total of EUR ${total(said('read_file'))}, and mailed it to finance@example.com. Have a good trip home.`;
  }
}

function report(receipts: readonly string[]): string {
  const lines = receipts.map((receipt) => `- ${receipt.trim().replace('\n', ': ')}`);
  return `# Expenses\n\n${lines.join('\n')}\n\n**Total: EUR ${total(receipts)}**\n`;
}

function total(receipts: readonly string[]): string {
  return receipts.reduce((sum, receipt) => sum + Number(/EUR ([\d.]+)/.exec(receipt)?.[1] ?? 0), 0).toFixed(2);
}
