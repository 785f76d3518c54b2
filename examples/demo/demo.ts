/**
 * The demo: an agent that files an expense report is killed twice and still finishes its job. `holdfast demo` starts it. For a person,
 * Studio shows it, and a second job follows, whose agent the person kills.
 */
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { HoldfastError } from 'holdfast';
import type { AgentOptions } from './agent-process.ts';
import { firstJob } from './first-job.ts';
import { namedModel } from './named-model.ts';
import { type StudioHost, studioDemo } from './studio-demo.ts';
import { prepareWorkspace } from './workspace.ts';

/** Whether this file is a source of a clone, or part of the built package. */
const IS_SOURCE = import.meta.filename.endsWith('.ts');
const SCRIPT = IS_SOURCE
  ? ['--import', new URL('../use-sources.ts', import.meta.url).href, join(import.meta.dirname, 'agent.ts')]
  : [join(import.meta.dirname, 'agent.js')];

/** What the demo gets from the program that starts it. */
export interface DemoOptions {
  /** The name of a real model. Absent: a model of fixed rules. */
  readonly model: string | undefined;
  /** Where the database and the files are written. Absent: a new temporary directory. */
  readonly dir: string | undefined;
  /** How a person calls that program, such as `npx holdfast`. */
  readonly command: string;
  /** Makes the text of a model or a tool safe for a terminal. */
  readonly printable: (text: string) => string;
  /** Serves Studio. Absent: no person is there to look at it. */
  readonly studio: StudioHost | undefined;
}

/** Runs the demo; returns its exit code. */
export async function runDemo({ model, dir, command, printable, studio }: DemoOptions): Promise<number> {
  if (model !== undefined) await namedModel(model); // reports a wrong name or a missing key before a process starts
  if (dir !== undefined && existsSync(join(dir, 'killed')))
    throw new HoldfastError('INVALID_ARGUMENT', `${dir} already contains a demo; choose another directory`);
  const root = dir ?? mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  const agent: AgentOptions = { script: SCRIPT, dir: join(root, 'killed'), model, printable };
  const database = join(agent.dir, 'agent.db');
  console.log(
    `\n${styleText('bold', 'Holdfast demo')}: an agent files an expense report. We kill it twice on the way.\n`,
  );
  prepareWorkspace(join(agent.dir, 'workspace'));
  const end = studio && (await studioDemo(agent, { root, studio }));
  if (end === 'failed') return 1;
  if (end === 'ended') {
    console.log(`\nTo look at it again: ${command} studio ${database}`);
    return 0;
  }
  const isSame = await firstJob(agent, { root });
  if (isSame === undefined) return 1;
  console.log(`\n${styleText('bold', 'What to try next')}`);
  for (const [what, how] of adviceFor(database, command)) console.log(`  ${styleText('dim', what.padEnd(12))}  ${how}`);
  console.log();
  return isSame ? 0 : 1;
}

/** Commands that work where the demo was started: in this repository, or where the package is installed. */
function adviceFor(database: string, command: string): readonly (readonly [what: string, how: string])[] {
  const run = IS_SOURCE ? 'npm start --' : `${command} demo`;
  const install = IS_SOURCE ? '' : 'npm install holdfast @ai-sdk/openai && ';
  return [
    ['a real model', `${install}OPENAI_API_KEY=… ${run} --model openai/gpt-5`],
    ['in Studio', `${command} studio ${database}`],
    ['the requests', `${command} curate expenses --db ${database}`],
    ['your agent', `the section "A first agent" in ${IS_SOURCE ? 'README.md' : 'node_modules/holdfast/README.md'}`],
  ];
}
