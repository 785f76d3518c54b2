/** `holdfast demo`: an agent that is killed twice and still finishes its job. For a person, Studio shows it. */
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import type { AgentOptions } from './demo/agent-process.ts';
import { namedModel } from './demo/named-model.ts';
import { summarize } from './demo/summary.ts';
import { giveUp, KILLS, watchAgent } from './demo/watch-agent.ts';
import { prepareWorkspace } from './demo/workspace.ts';
import type { Command } from './main.ts';
import { OWN_COMMAND } from './own-command.ts';
import { isInteractive } from './studio/open-browser.ts';
import { PLACE_OPTIONS, PLACE_USAGE, placeOf } from './studio/place.ts';
import { terminal } from './terminal.ts';

const { bold, dim, green } = terminal;

/** Next to this file: as a source, and in the built package. */
const SCRIPT = join(import.meta.dirname, 'demo', import.meta.filename.endsWith('.ts') ? 'agent.ts' : 'agent.js');

export const demo: Command = {
  usage: `holdfast demo [--model <provider/model>] [--dir <directory>] [--port n] [--host name] [--token text] [--no-open]

An agent files an expense report. Its process is killed inside a tool, resumed by a new one, killed again while the model
responds, and resumed again. It takes seconds, needs no API key and writes only to its directory.

In a terminal, Studio shows it in the browser; then the agent plans a trip, and you kill it with a button, as often as you like, until
Ctrl+C. Without a terminal, or with CI=true, there is no Studio, and the command ends with the expense report.

  --model name   a real model instead of rules: openai/<model> (needs @ai-sdk/openai and OPENAI_API_KEY)
                 or anthropic/<model> (needs @ai-sdk/anthropic and ANTHROPIC_API_KEY)
  --dir path     where to put the database and the files; a new temporary directory by default
${PLACE_USAGE}`,
  async run(args) {
    const options = { model: { type: 'string' }, dir: { type: 'string' }, ...PLACE_OPTIONS } as const;
    const { values } = parseArgs({ args: [...args], options });
    const place = placeOf(values);
    if (values.model !== undefined) await namedModel(values.model); // reports a wrong name or a missing key before a process starts
    if (values.dir !== undefined && existsSync(join(values.dir, 'killed')))
      throw new HoldfastError('INVALID_ARGUMENT', `${values.dir} already contains a demo; choose another directory`);
    const root = values.dir ?? mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
    const agent: AgentOptions = { script: SCRIPT, dir: join(root, 'killed'), model: values.model };
    console.log(`\n${bold('Holdfast demo')}: an agent files an expense report. We kill it twice on the way.\n`);
    prepareWorkspace(join(agent.dir, 'workspace'));
    if (isInteractive()) {
      const { studioDemo } = await import('./demo/studio-demo.ts'); // and with it the server, which nothing else here needs
      const code = await studioDemo({ agent, root, place, isOpened: !values['no-open'] });
      if (code !== undefined) return code;
    }
    return plainDemo(agent, root);
  },
};

/** The demo without Studio: ends with its summary. */
async function plainDemo(agent: AgentOptions, root: string): Promise<number> {
  const began = performance.now();
  for (const kill of KILLS) {
    const outcome = await watchAgent(agent, { kill });
    if (outcome !== 'killed') return giveUp(outcome);
  }
  const outcome = await watchAgent(agent);
  if (outcome === 'killed' || outcome?.type !== 'done' || outcome.status !== 'completed') return giveUp(outcome);
  console.log(`\n${green('✓')} ${bold('done')} ${dim(`in ${((performance.now() - began) / 1000).toFixed(1)} s`)}\n`);
  const isSame = await summarize(agent, root, KILLS.length);
  console.log(`\n${bold('What to try next')}`);
  for (const [what, how] of adviceFor(join(agent.dir, 'agent.db'))) console.log(`  ${dim(what.padEnd(12))}  ${how}`);
  console.log();
  return isSame ? 0 : 1;
}

/** Commands that work where the demo was started: in this repository, or where the package is installed. */
function adviceFor(database: string): readonly (readonly [what: string, how: string])[] {
  const source = import.meta.filename.endsWith('.ts');
  const run = source ? 'npm start --' : 'npx holdfast demo';
  const install = source ? '' : 'npm install holdfast @ai-sdk/openai && ';
  return [
    ['a real model', `${install}OPENAI_API_KEY=… ${run} --model openai/gpt-5`],
    ['in Studio', `${OWN_COMMAND} studio ${database}`],
    ['the requests', `${OWN_COMMAND} curate expenses --db ${database}`],
    ['your agent', `the section "A first agent" in ${source ? 'README.md' : 'node_modules/holdfast/README.md'}`],
  ];
}
