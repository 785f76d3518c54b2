/** Tools with the names and arguments that coding agents have. What they return depends on their arguments alone. */
import { z } from 'zod';
import { definePrompt } from '../../../src/evaluate.ts';
import { defineSubagent, defineTool, type Tool } from '../../../src/index.ts';
import type { StudioHost } from './studio-host.ts';

const OUTPUT = [
  '\u001b[1m RUN \u001b[0m v5.1.0 /home/ada/harbor',
  ' \u001b[32m✓\u001b[0m test/tides.test.ts (12 tests) 34ms',
  ' \u001b[31m✗\u001b[0m test/locks.test.ts > a lock that was released can be taken again',
  '   AssertionError: expected \u001b[32m"free"\u001b[0m to be \u001b[31m"held"\u001b[0m',
  '',
  ' Tests  \u001b[31m1 failed\u001b[0m | \u001b[32m12 passed\u001b[0m (13)',
].join('\n');

const FILE = [
  'export class Lock {',
  "  #state: 'free' | 'held' = 'free';",
  '',
  '  /** Takes the lock; false when it is held. */',
  '  take(): boolean {',
  "    if (this.#state === 'held') return false;",
  "    this.#state = 'held';",
  '    return true;',
  '  }',
  '',
  '  release(): void {',
  "    this.#state = 'held';",
  '  }',
  '}',
];

export function studioTools(host: StudioHost): readonly Tool[] {
  const note = (name: string, input: unknown): void => void host.ran.push({ name, input });
  const bash = defineTool({
    name: 'Bash',
    description: 'Runs a command',
    input: z.object({ command: z.string(), description: z.string().optional() }),
    effect: 'idempotent',
    execute: async ({ command }, { progress }) => {
      note('Bash', command);
      for (const line of OUTPUT.split('\n')) progress(`${line}\n`);
      await host.commands.passed();
      if (command.startsWith('false')) throw new Error('the command failed with exit code 1');
      return command.includes('test') ? OUTPUT : `ran: ${command}`;
    },
  });
  const read = defineTool({
    name: 'Read',
    description: 'Reads a file',
    input: z.object({ file_path: z.string() }),
    effect: 'read',
    execute: () => FILE.map((line, index) => `${String(index + 1).padStart(6)}→${line}`).join('\n'),
  });
  const edit = defineTool({
    name: 'Edit',
    description: 'Edits a file',
    input: z.object({ file_path: z.string(), old_string: z.string(), new_string: z.string() }),
    effect: 'idempotent',
    execute: ({ file_path }) => `The file ${file_path} has been updated.`,
  });
  const plan = defineTool({
    name: 'TodoWrite',
    description: 'Writes the list of things to do',
    input: z.object({ todos: z.array(z.object({ content: z.string(), status: z.string() })) }),
    effect: 'idempotent',
    execute: () => 'noted',
  });
  const look = defineTool({
    name: 'screenshot',
    description: 'Takes a picture',
    input: z.object({ page: z.string() }),
    effect: 'read',
    execute: ({ page }) => ({ page, width: 1280, height: 800, elements: [{ tag: 'h1', text: 'Tides' }] }),
  });
  const letter = defineTool({
    name: 'send_letter',
    description: 'Sends a letter',
    input: z.object({ to: z.string(), text: z.string() }),
    effect: 'once',
    needsApproval: { expiresAfterMs: 3_600_000 },
    execute: (input) => {
      note('send_letter', input);
      return `The letter to ${input.to} is in the post.`;
    },
  });
  const charge = defineTool({
    name: 'charge_card',
    description: 'Charges a card',
    input: z.object({ order: z.string(), euros: z.number() }),
    effect: 'once',
    timeoutMs: 150,
    execute: async ({ order, euros }, { progress, signal }) => {
      note('charge_card', { order, euros });
      progress(`connecting to the bank\nauthorising ${euros} EUR for ${order}\nwaiting for confirmation\n`);
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
      return 'charged';
    },
    reconcile: () => ({ happened: 'unknown' }),
  });
  const researcher = defineSubagent({
    name: 'researcher',
    description: 'Finds something out',
    prompt: definePrompt({ ns: 'studio', key: 'researcher', instructions: 'Find it out.', tools: [bash, read] }),
  });
  const lead = defineSubagent({
    name: 'lead',
    description: 'Lets others find something out',
    prompt: definePrompt({ ns: 'studio', key: 'lead', instructions: 'Ask others.', tools: [researcher] }),
  });
  return [bash, read, edit, plan, look, letter, charge, researcher, lead] as readonly Tool[];
}
