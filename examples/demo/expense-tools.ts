/** The tools of the demo's first job: read three receipts, write an expense report, mail it. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AnyTool, defineTool } from 'holdfast';
import { strings } from './strings-schema.ts';
import type { Workspace } from './workspace.ts';

/** Called when a mail was sent while its tool still runs, and with the result of `reconcile`. */
export interface JobListener {
  sent(): void;
  lookedUp(happened: boolean): void;
}

/** Tools that act on files of the workspace and record each execution there. */
export function expenseTools(workspace: Workspace, listener: JobListener): readonly AnyTool[] {
  return [
    defineTool({
      name: 'list_files',
      description: 'Lists the files of the workspace',
      ...strings({}),
      effect: 'read',
      execute: (_, context) => {
        workspace.note(context);
        return readdirSync(workspace.dir)
          .filter((name) => name.endsWith('.txt'))
          .sort();
      },
    }),
    defineTool({
      name: 'read_file',
      description: 'Reads a file of the workspace',
      ...strings({ file: 'the file' }),
      effect: 'read',
      execute: ({ file }, context) => {
        workspace.note(context);
        return readFileSync(workspace.pathOf(file), 'utf8');
      },
    }),
    defineTool({
      name: 'write_file',
      description: 'Writes a file of the workspace',
      ...strings({ file: 'the file', text: 'its content' }),
      effect: 'idempotent',
      execute: ({ file, text }, context) => {
        workspace.note(context);
        writeFileSync(workspace.pathOf(file), text);
        return `${file}: ${text.length} characters`;
      },
    }),
    defineTool({
      name: 'send_mail',
      description: 'Sends a file of the workspace by mail',
      ...strings({ to: 'the address', file: 'the file to send' }),
      effect: 'once', // never repeated without a person's or `reconcile`'s decision: the recipient would get a second mail
      async execute({ to, file }, context) {
        workspace.note(context);
        const mail = workspace.effectOf('outbox', context);
        writeFileSync(mail, `To: ${to}\n\n${readFileSync(workspace.pathOf(file), 'utf8')}`);
        listener.sent();
        await sleep(250); // as a slow mail server
        return `sent to ${to}`;
      },
      reconcile: ({ to }, context) => {
        const happened = existsSync(workspace.effectOf('outbox', context));
        listener.lookedUp(happened);
        return happened ? { happened, result: `sent to ${to}` } : { happened };
      },
    }),
  ];
}
