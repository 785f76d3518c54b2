import { join } from 'node:path';
import { styleText } from 'node:util';
import { type AgentOptions, type Progress, type RunningAgent, startAgent } from './agent-process.ts';
import { screen } from './screen.ts';
import { mailsIn } from './workspace.ts';

interface Seen {
  readonly mailed: boolean;
  readonly words: number;
}

/** A moment at which the demo kills its agent. */
export interface Kill {
  readonly when: (progress: Progress, seen: Seen) => boolean;
  readonly where: string;
}

/** The demo kills after the mail was sent while its tool still runs, then in the middle of the final response. */
export const KILLS: readonly Kill[] = [
  {
    when: (progress) => progress.type === 'acted',
    where: 'inside send_mail: the mail was sent, its result is not recorded',
  },
  {
    when: (progress, seen) => progress.type === 'said' && seen.mailed && seen.words > 8,
    where: 'in the middle of the final response',
  },
];

/** How an agent's process ended: killed by the demo, with a last report, or without one. */
export type AgentOutcome = 'killed' | Extract<Progress, { readonly type: 'done' | 'failed' }> | undefined;

/** Runs the agent's process and shows its progress; kills it when `kill.when` returns true. */
export async function watchAgent(
  options: AgentOptions,
  {
    kill,
    isQuiet = false,
    onStart,
  }: {
    readonly kill?: Kill | undefined;
    readonly isQuiet?: boolean;
    readonly onStart?: (agent: RunningAgent) => void;
  } = {},
): Promise<AgentOutcome> {
  const agent = startAgent(options);
  onStart?.(agent);
  const show = isQuiet ? () => {} : screen(agent.pid);
  let seen: Seen = { mailed: mailsIn(join(options.dir, 'workspace')).length > 0, words: 0 };
  let outcome: AgentOutcome;
  for await (const progress of agent.progress) {
    if (outcome === 'killed') continue; // output that was in the pipe when it was killed
    seen = { mailed: seen.mailed || progress.type === 'acted', words: progress.type === 'said' ? seen.words + 1 : 0 };
    if (progress.type === 'done' || progress.type === 'failed') outcome = progress;
    show(progress);
    if (!kill?.when(progress, seen)) continue;
    agent.kill();
    outcome = 'killed';
    console.log(`\n  ${styleText('red', '✗ SIGKILL')} ${kill.where}\n`);
  }
  return outcome;
}

/** Prints why the agent did not get to the end. */
export function giveUp(outcome: AgentOutcome): void {
  const why =
    outcome === 'killed' || outcome === undefined
      ? 'its process ended early'
      : (outcome.message ??
        `it ended as ${outcome.type === 'done' ? outcome.status : outcome.type} before we could kill it`);
  console.error(styleText('red', `\nThe agent did not get through the demo: ${why}`));
}
