/** `holdfast demo`: an agent that is killed twice and still finishes its job. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { type ConversationMessage, textOf } from '../core/messages.ts';
import { getMessages } from '../core/views.ts';
import { openSession } from '../session/session.ts';
import { sqliteStore } from '../stores/sqlite/sqlite-store.ts';
import type { Progress } from './demo/agent.ts';
import { startAgent } from './demo/agent-process.ts';
import { executionsIn, mailsIn, prepareWorkspace } from './demo/job.ts';
import { namedModel } from './demo/named-model.ts';
import type { Command } from './main.ts';
import { printable, printableLine } from './printable.ts';
import { terminal } from './terminal.ts';

const { bold, dim, green, red, cyan, yellow } = terminal;

/** When to kill: after the mail was sent while its tool still runs, then in the middle of the final response. */
const KILLS: readonly { readonly when: (progress: Progress, seen: Seen) => boolean; readonly where: string }[] = [
  {
    when: (progress) => progress.type === 'acted',
    where: 'inside send_mail: the mail was sent, its result is not recorded',
  },
  {
    when: (progress, seen) => progress.type === 'said' && seen.mailed && seen.words > 8,
    where: 'in the middle of the final response',
  },
];

/** Next to this file: as a source, and in the built package. */
const SCRIPT = join(import.meta.dirname, 'demo', import.meta.filename.endsWith('.ts') ? 'agent.ts' : 'agent.js');

interface Seen {
  readonly mailed: boolean;
  readonly words: number;
}

export const demo: Command = {
  usage: `holdfast demo [--model <provider/model>] [--dir <directory>]

An agent files an expense report. Its process is killed inside a tool, resumed by a new one, killed again while the model
responds, and resumed again. It takes seconds, needs no API key and writes only to its directory.

  --model name   a real model instead of rules: openai/<model> (needs @ai-sdk/openai and OPENAI_API_KEY)
                 or anthropic/<model> (needs @ai-sdk/anthropic and ANTHROPIC_API_KEY)
  --dir path     where to put the database and the files; a new temporary directory by default`,
  async run(args) {
    const { values } = parseArgs({ args: [...args], options: { model: { type: 'string' }, dir: { type: 'string' } } });
    if (values.model !== undefined) await namedModel(values.model); // reports a wrong name or a missing key before a process starts
    if (values.dir !== undefined && existsSync(join(values.dir, 'killed')))
      throw new HoldfastError('INVALID_ARGUMENT', `${values.dir} already contains a demo; choose another directory`);
    const root = values.dir ?? mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
    const dir = join(root, 'killed');
    const began = performance.now();
    console.log(`\n${bold('Holdfast demo')}: an agent files an expense report. We kill it twice on the way.\n`);
    prepareWorkspace(join(dir, 'workspace'));
    for (const kill of KILLS) {
      const outcome = await runAgent(dir, values.model, kill);
      if (outcome !== 'killed') return giveUp(outcome);
    }
    const outcome = await runAgent(dir, values.model);
    if (outcome === 'killed' || outcome?.type !== 'done' || outcome.status !== 'completed') return giveUp(outcome);
    console.log(`\n${green('✓')} ${bold('done')} ${dim(`in ${((performance.now() - began) / 1000).toFixed(1)} s`)}\n`);
    return summarize(root, dir, values.model);
  },
};

type AgentOutcome = 'killed' | Extract<Progress, { readonly type: 'done' | 'failed' }> | undefined;

/** Runs the agent's process and shows its progress; kills it when `kill.when` returns true. */
async function runAgent(
  dir: string,
  model: string | undefined,
  kill?: (typeof KILLS)[number],
  quiet = false,
): Promise<AgentOutcome> {
  const agent = startAgent(SCRIPT, dir, model);
  const show = quiet ? () => {} : screen(agent.pid);
  let seen: Seen = { mailed: mailsIn(join(dir, 'workspace')).length > 0, words: 0 };
  let outcome: AgentOutcome;
  for await (const progress of agent.progress) {
    if (outcome === 'killed') continue; // output that was in the pipe when it was killed
    seen = { mailed: seen.mailed || progress.type === 'acted', words: progress.type === 'said' ? seen.words + 1 : 0 };
    if (progress.type === 'done' || progress.type === 'failed') outcome = progress;
    show(progress);
    if (!kill?.when(progress, seen)) continue;
    agent.kill();
    outcome = 'killed';
    console.log(`\n  ${red('✗ SIGKILL')} ${kill.where}\n`);
  }
  return outcome;
}

/** Shows an agent's progress, with the model's text as it streams. */
function screen(pid: number): (progress: Progress) => void {
  console.log(`${cyan('▶')} ${bold(`process ${pid}`)}`);
  let speaking = false;
  const line = (text: string): void => {
    if (speaking) process.stdout.write('\n');
    speaking = false;
    if (text) console.log(`  ${text}`);
  };
  return (progress) => {
    switch (progress.type) {
      case 'said':
        process.stdout.write(`${speaking ? '' : `  ${dim('model')}  `}${indented(printable(progress.delta))}`);
        speaking = true;
        return;
      case 'called':
        return line(`${dim('call ')}  ${printableLine(progress.name)} ${dim(brief(progress.arguments))}`);
      case 'returned':
        return line(
          `${progress.isError ? red('error') : green('  ok ')}  ${printableLine(progress.name)} ${dim(brief(progress.text))}`,
        );
      case 'interrupted':
        return line(yellow(`saved  the interrupted response: “${brief(progress.text)}”`));
      case 'lookedUp':
        return line(
          yellow(
            `check  ${progress.name} was started by the process that died: ${progress.happened ? 'the mail is in the outbox, so it is not sent again' : 'no mail left, so it runs'}`,
          ),
        );
      case 'acted':
        return line(`${dim('mail ')}  left for the server …`);
      default:
        return line('');
    }
  };
}

/** Indents further lines of a model's text, so that they do not look like lines of the demo. */
function indented(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat('  model  '.length)}`);
}

function brief(text: string): string {
  const one = printableLine(text);
  return one.length > 60 ? `${one.slice(0, 59)}…` : one;
}

/** Compares with a run that was not killed, and prints the summary. */
async function summarize(root: string, dir: string, model: string | undefined): Promise<number> {
  const killed = await lookAt(dir);
  const rows: [string, string][] = [
    ['kills', `${KILLS.length}, each resumed by a new process`],
    [
      'tool calls',
      killed.once ? `${killed.calls}, each executed exactly once` : red(`${killed.calls}, not each executed once`),
    ],
    ['mails sent', killed.mails === 1 ? '1' : red(String(killed.mails))],
  ];
  let same = killed.mails === 1 && killed.once;
  if (!model) {
    const calm = join(root, 'calm');
    prepareWorkspace(join(calm, 'workspace'));
    await runAgent(calm, undefined, undefined, true);
    const expected = await lookAt(calm);
    const equal = isDeepStrictEqual(killed.messages, expected.messages) && killed.report === expected.report;
    same &&= equal;
    rows.push([
      'the result',
      equal
        ? `the same ${killed.messages.length} messages and the same report as a run that was never killed`
        : red('differs from an uninterrupted run'),
    ]);
  }
  rows.push(['database', join(dir, 'agent.db')], ['report', join(dir, 'workspace', 'report.md')]);
  console.log(bold('What happened'));
  for (const [what, is] of rows) console.log(`  ${dim(what.padEnd(11))} ${is}`);
  console.log(`\n${bold('What to try next')}`);
  for (const [what, how] of adviceFor(join(dir, 'agent.db'))) console.log(`  ${dim(what.padEnd(12))}  ${how}`);
  console.log();
  return same ? 0 : 1;
}

/** Commands that work where the demo was started: in this repository, or where the package is installed. */
function adviceFor(database: string): readonly (readonly [what: string, how: string])[] {
  const source = import.meta.filename.endsWith('.ts');
  const run = source ? 'npm start --' : 'npx holdfast demo';
  const install = source ? '' : 'npm install holdfast @ai-sdk/openai && ';
  const curate = source ? 'npx node src/cli/holdfast.ts curate' : 'npx holdfast curate';
  return [
    ['a real model', `${install}OPENAI_API_KEY=… ${run} --model openai/gpt-5`],
    ['the requests', `${curate} expenses --db ${database}`],
    ['your agent', `the section "An agent" in ${source ? 'README.md' : 'node_modules/holdfast/README.md'}`],
  ];
}

interface Look {
  readonly messages: readonly unknown[];
  readonly calls: number;
  /** Every call has one result and was executed once, over all processes. */
  readonly once: boolean;
  readonly mails: number;
  readonly report: string;
}

async function lookAt(dir: string): Promise<Look> {
  const store = await sqliteStore(join(dir, 'agent.db'), { readOnly: true });
  const session = await openSession({ store, id: 'expenses', readOnly: true });
  const messages = getMessages(session);
  await store.close();
  const calls = messages.flatMap(callsIn).length;
  const results = messages.filter((message) => message.role === 'tool').length;
  const executions = [...executionsIn(join(dir, 'workspace')).values()];
  return {
    messages: messages.map(({ role, turn, ...rest }) => ({
      role,
      turn,
      text: textOf(rest),
      calls: callsIn({ role, turn, ...rest } as ConversationMessage),
    })),
    calls,
    once: executions.length === calls && results === calls && executions.every((count) => count === 1),
    mails: mailsIn(join(dir, 'workspace')).length,
    report: readFileSync(join(dir, 'workspace', 'report.md'), 'utf8'),
  };
}

function callsIn(message: ConversationMessage): readonly string[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => `${call.name} ${call.arguments}`) : [];
}

function giveUp(outcome: AgentOutcome): number {
  const why =
    outcome === 'killed' || outcome === undefined
      ? 'its process ended early'
      : (outcome.message ??
        `it ended as ${outcome.type === 'done' ? outcome.status : outcome.type} before we could kill it`);
  console.error(red(`\nThe agent did not get through the demo: ${printableLine(why)}`));
  return 1;
}
