/** Real agents that continue a written session, and the request that they then send to the model. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AgentCommand } from '../../../src/importers/handoff/handoff-target.ts';
import type { HandoffTarget } from '../../../src/transcripts/handoff/build-transcript.ts';
import { startProviderServer } from '../../support/provider-server/start-provider-server.ts';
import { claudeOptions } from './claude.ts';
import { CODEX_PROGRAM, codexEnvironment } from './codex.ts';
import { type ModelServer, startModelServer } from './model-server.ts';
import { OPENCODE_PROGRAM, openCodeOptions } from './opencode.ts';
import { type SentItem, sentMessages, sentResponses } from './sent-items.ts';
import { temporaryDirectory } from './temporary.ts';

/** One real agent with a folder of its own and a scripted model. */
export interface HandoffAgent {
  readonly cwd: string;
  readonly configDir: string;
  /** The model to name in the handover; only OpenCode needs one. */
  readonly model?: string;
  /** The agent's program and environment, for commands that the handover runs itself. */
  readonly program: { readonly command: string; readonly env: NodeJS.ProcessEnv };
  /** Runs a command of the handover with the real program. Throws when it fails. */
  run(command: AgentCommand, ...args: readonly string[]): Promise<string>;
  /** The newest request, and why requests were rejected. */
  sent(): { readonly items: readonly SentItem[]; readonly refusals: readonly string[] };
  close(): Promise<void>;
}

/** What every continuing prompt says: it names the script of the model server. */
export const GO_ON = 'Go on. [[script:again]]';

const SCRIPTS = { again: () => 'Continued.' };

/** Starts the model and prepares the folders of an agent. */
export async function handoffAgent(to: HandoffTarget): Promise<HandoffAgent> {
  const directory = temporaryDirectory('handoff');
  const [home, cwd] = [join(directory, 'home'), join(directory, 'work')];
  for (const path of [home, cwd]) mkdirSync(path);
  if (to === 'codex') return await codexAgent(home, cwd);
  const server = await startModelServer(SCRIPTS);
  return to === 'opencode' ? openCodeAgent(server, home, cwd) : claudeAgent(server, home, cwd);
}

function claudeAgent(server: ModelServer, home: string, cwd: string): HandoffAgent {
  const { env = {} } = claudeOptions({ url: server.url, home, cwd });
  const name = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`;
  const program = { command: createRequire(import.meta.url).resolve(name), env };
  return {
    ...{ cwd, configDir: join(home, '.claude'), program },
    run: (command, ...args) => runProgram([program.command], { ...command, args: [...command.args, ...args] }, env),
    ...anthropicSide(server),
  };
}

function openCodeAgent(server: ModelServer, home: string, cwd: string): HandoffAgent {
  const { env: given = {}, config } = openCodeOptions({ url: server.url, home, cwd });
  const env = { ...given, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) };
  return {
    ...{ cwd, configDir: join(home, 'data', 'opencode'), model: 'scripted/model' },
    program: { command: OPENCODE_PROGRAM, env },
    run: (command, ...args) => runProgram([OPENCODE_PROGRAM], { ...command, args: [...command.args, ...args] }, env),
    ...anthropicSide(server),
  };
}

function anthropicSide(server: ModelServer): Pick<HandoffAgent, 'sent' | 'close'> {
  return {
    sent: () => ({ items: sentMessages(server.requests.at(-1)?.sent ?? {}), refusals: server.refusals }),
    close: () => server.close(),
  };
}

async function codexAgent(home: string, cwd: string): Promise<HandoffAgent> {
  const server = await startProviderServer({ script: () => 'Continued.' });
  const env = { PATH: process.env.PATH, HOME: home, ...codexEnvironment({ url: server.url, home }) };
  return {
    ...{ cwd, configDir: env.CODEX_HOME, program: { command: CODEX_PROGRAM, env } },
    run: (command, ...args) => {
      // The directory of a test is in no repository.
      const exec = [...command.args, '--skip-git-repo-check', ...args];
      return runProgram([process.execPath, CODEX_PROGRAM], { ...command, args: exec }, env);
    },
    sent: () => ({ items: sentResponses(server.requests.at(-1)?.body ?? {}), refusals: server.refusals }),
    close: () => server.close(),
  };
}

async function runProgram(
  [program = '', ...first]: readonly string[],
  { args, cwd, env: added }: AgentCommand,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const child = spawn(program, [...first, ...args], {
    ...{ cwd, env: { ...env, ...added }, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const status = await new Promise<unknown>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} ended with ${String(status)}: ${output.slice(-4000)}`);
  return output;
}
