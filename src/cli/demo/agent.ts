/**
 * The demo's agent, as its own process: `agent.ts <directory> [<model>]`. It evaluates its prompt in the directory's database, from
 * the start or from where the last process was killed, and reports its progress as lines of JSON on its standard output.
 * It exits when its parent's end of a pipe closes: an agent must not continue after its parent was killed.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { textOf } from '../../core/messages.ts';
import { createAdapter } from '../../loop/create-adapter.ts';
import type { EvaluationEvent } from '../../loop/provider-adapter.ts';
import { openSession } from '../../session/session.ts';
import { sqliteStore } from '../../stores/sqlite/sqlite-store.ts';
import { expensePrompt, REQUEST, ruleModel } from './job.ts';
import { namedModel } from './named-model.ts';

/** A report of the agent to its parent. `failed` is an error that is not part of a response. */
export type Progress =
  | { readonly type: 'said'; readonly delta: string; readonly turn: number }
  | { readonly type: 'called'; readonly name: string; readonly arguments: string }
  | { readonly type: 'acted'; readonly name: string }
  | { readonly type: 'lookedUp'; readonly name: string; readonly happened: boolean }
  | { readonly type: 'returned'; readonly name: string; readonly text: string; readonly isError: boolean }
  | { readonly type: 'interrupted'; readonly text: string }
  | { readonly type: 'done'; readonly status: string; readonly text: string; readonly message?: string }
  | { readonly type: 'failed'; readonly message: string };

const [dir = '.', modelName] = process.argv.slice(2);
const report = (progress: Progress): void => {
  process.stdout.write(`${JSON.stringify(progress)}\n`);
};

process.stdin.on('end', orphaned).on('error', orphaned).resume();
process.stdin.unref(); // this pipe must not keep a finished agent alive
process.stdout.on('error', orphaned);

try {
  await run();
} catch (error) {
  report({ type: 'failed', message: messageOf(error) });
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const model = modelName ? await namedModel(modelName) : ruleModel(() => sleep(25));
  const store = await sqliteStore(join(dir, 'agent.db'));
  const session = await openSession({ store, id: 'expenses' });
  const prompt = expensePrompt(join(dir, 'workspace'), {
    sent: () => report({ type: 'acted', name: 'send_mail' }),
    lookedUp: (happened) => report({ type: 'lookedUp', name: 'send_mail', happened }),
  });
  const response = await createAdapter({ model }).evaluate(prompt, {
    session,
    input: REQUEST,
    resume: 'auto', // the same call starts the agent and resumes it after a crash
    maxTurns: 30,
    onEvent: (event) => reportEvent(event),
  });
  const { status, text, message } = response;
  report({ type: 'done', status, text, ...(message !== undefined && { message }) });
  await session.close();
  await store.close();
}

function orphaned(): never {
  process.exit(1);
}

function reportEvent(event: EvaluationEvent): void {
  if (event.type === 'message/delta') {
    const { kind, delta, turn } = event;
    if (kind === 'text') report({ type: 'said', delta, turn });
    return;
  }
  if (event.type === 'message/interrupted')
    report({ type: 'interrupted', text: event.blocks.map((block) => block.text).join('') });
  if (event.type !== 'message/recorded') return;
  const { message } = event;
  if (message.role === 'assistant') {
    for (const call of message.toolCalls ?? []) report({ type: 'called', name: call.name, arguments: call.arguments });
  } else if (message.role === 'tool') {
    report({ type: 'returned', name: message.toolName, text: textOf(message), isError: message.isError });
  }
}
