/**
 * The demo's agent, as its own process. It reports its progress as lines of JSON on its standard output.
 *
 *     agent.ts <directory>                 files the expenses, from the start or from where the last process was killed
 *     agent.ts <directory> --session <id>  does what the session has left: its open evaluation, then what was sent to it
 *
 * It exits when its parent's end of a pipe closes: an agent must not continue after its parent was killed.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type EvaluationEvent, openStore, textOf } from 'holdfast';
import type { Progress } from './agent-process.ts';
import { createAssistant, SESSION_ID } from './assistant.ts';
import { EXPENSE_REQUEST } from './expense-rules.ts';
import { namedModel } from './named-model.ts';
import { ruleModel } from './rule-model.ts';

const { values, positionals } = parseArgs({
  options: { model: { type: 'string' }, session: { type: 'string' }, 'word-ms': { type: 'string', default: '25' } },
  allowPositionals: true,
});
const [dir = '.'] = positionals;
const report = (progress: Progress): void => {
  process.stdout.write(`${JSON.stringify(progress)}\n`);
};

process.stdin.on('end', orphaned).on('error', orphaned).resume();
process.stdin.unref(); // this pipe must not keep a finished agent alive
process.stdout.on('error', orphaned);

try {
  await work();
} catch (error) {
  report({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}

async function work(): Promise<void> {
  const model = values.model ? await namedModel(values.model) : ruleModel(() => sleep(Number(values['word-ms'])));
  const agent = createAssistant(model, join(dir, 'workspace'), {
    sent: () => report({ type: 'acted', name: 'send_mail' }),
    lookedUp: (happened) => report({ type: 'lookedUp', name: 'send_mail', happened }),
  });
  const store = await openStore(join(dir, 'agent.db'));
  const session = await store.session(values.session ?? SESSION_ID);
  // The same call starts the agent and, in the next process, resumes it after a crash: an input is sent once by its id.
  const { status, text, message } =
    values.session === undefined
      ? await agent.run(session, EXPENSE_REQUEST, { id: 'expenses', onEvent: reportEvent })
      : await agent.run(session, undefined, { onEvent: reportEvent });
  const waitsFor = session.pending().map((call) => ({ name: call.name, isUnknown: call.status === 'started' }));
  report({ type: 'done', status, text: text ?? '', ...(message !== undefined && { message }), waitsFor });
  await session.close();
  await store.close();
}

function orphaned(): never {
  process.exit(1);
}

function reportEvent(event: EvaluationEvent): void {
  if (event.type === 'message/delta') {
    const { kind, delta, turn, conversationId } = event;
    const isSubagent = conversationId.includes('/');
    if (kind === 'text' && !isSubagent) report({ type: 'said', delta, turn });
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
