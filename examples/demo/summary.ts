/** What the demo's first job shows: each call executed once, and the same result as a run that was never killed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, styleText } from 'node:util';
import { type ConversationMessage, openStore, textOf } from 'holdfast';
import type { AgentOptions } from './agent-process.ts';
import { SESSION_ID } from './assistant.ts';
import { watchAgent } from './watch-agent.ts';
import { executionsIn, mailsIn, prepareWorkspace } from './workspace.ts';

/** Compares with a run that was not killed, and prints the summary. Returns whether everything was as it should be. */
export async function summarize(agent: AgentOptions, root: string, kills: number): Promise<boolean> {
  const { dir, model } = agent;
  const killed = await lookAt(dir);
  const rows: [string, string][] = [
    ['kills', `${kills}, each resumed by a new process`],
    [
      'tool calls',
      killed.once
        ? `${killed.calls}, each executed exactly once`
        : styleText('red', `${killed.calls}, not each executed once`),
    ],
    ['mails sent', killed.mails === 1 ? '1' : styleText('red', String(killed.mails))],
  ];
  let same = killed.mails === 1 && killed.once;
  if (!model) {
    const calm = join(root, 'calm');
    prepareWorkspace(join(calm, 'workspace'));
    await watchAgent({ ...agent, dir: calm }, { isQuiet: true });
    const expected = await lookAt(calm);
    const equal = isDeepStrictEqual(killed.messages, expected.messages) && killed.report === expected.report;
    same &&= equal;
    rows.push([
      'the result',
      equal
        ? `the same ${killed.messages.length} messages and the same report as a run that was never killed`
        : styleText('red', 'differs from an uninterrupted run'),
    ]);
  }
  rows.push(['database', join(dir, 'agent.db')], ['report', join(dir, 'workspace', 'report.md')]);
  console.log(styleText('bold', 'What happened'));
  for (const [what, is] of rows) console.log(`  ${styleText('dim', what.padEnd(11))} ${is}`);
  return same;
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
  const store = await openStore(join(dir, 'agent.db'), { readOnly: true });
  const session = await store.session(SESSION_ID, { readOnly: true });
  const messages = session.messages();
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
