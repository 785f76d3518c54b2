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
import {
  createAdapter,
  type EvaluationEvent,
  openSession,
  type Prompt,
  type ProviderAdapter,
  type Session,
  textOf,
} from 'holdfast';
import { sqliteStore } from 'holdfast/sqlite';
import type { Progress } from './agent-process.ts';
import { assistantPrompt, SESSION_ID } from './assistant.ts';
import { EXPENSE_REQUEST } from './expense-rules.ts';
import { namedModel } from './named-model.ts';
import { ruleModel } from './rule-model.ts';

const MAX_TURNS = 30;
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
  const adapter = createAdapter({ model });
  const store = await sqliteStore(join(dir, 'agent.db'));
  const session = await openSession({ store, id: values.session ?? SESSION_ID });
  const prompt = assistantPrompt(join(dir, 'workspace'), {
    sent: () => report({ type: 'acted', name: 'send_mail' }),
    lookedUp: (happened) => report({ type: 'lookedUp', name: 'send_mail', happened }),
  });
  report(await (values.session === undefined ? fileExpenses : runSession)(adapter, prompt, session));
  await session.close();
  await store.close();
}

async function fileExpenses(adapter: ProviderAdapter, prompt: Prompt, session: Session): Promise<Progress> {
  const { status, text, message } = await adapter.evaluate(prompt, {
    session,
    input: EXPENSE_REQUEST,
    resume: 'auto', // the same call starts the agent and resumes it after a crash
    maxTurns: MAX_TURNS,
    onEvent: reportEvent,
  });
  return { type: 'done', status, text, ...(message !== undefined && { message }) };
}

async function runSession(adapter: ProviderAdapter, prompt: Prompt, session: Session): Promise<Progress> {
  const { status, responses, error } = await adapter.run(prompt, {
    session,
    maxTurns: MAX_TURNS,
    onEvent: reportEvent,
  });
  const pending = session.pending();
  return {
    type: 'done',
    status,
    text: responses.at(-1)?.text ?? '',
    ...(error && { message: error.message }),
    ...(pending.length > 0 && {
      waitsFor: pending.map(({ name, status: call }) => ({ name, isUnknown: call === 'started' })),
    }),
  };
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
