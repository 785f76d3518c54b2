/**
 * Hands a conversation over: writes it as a session of another agent, which then continues it with real turns, calls and results.
 *
 *     conversation ─▶ buildTranscript (pure) ─▶ a new file in the agent's folder ─▶ the command that continues it
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Loss } from '../../formats/losses.ts';
import type { RedactOptions, SecretCounts } from '../../transcripts/export/redact-secrets.ts';
import { buildTranscript, type HandoffTarget } from '../../transcripts/handoff/build-transcript.ts';
import { isAbsolutePath, type PathMap } from '../../transcripts/handoff/handed-texts.ts';
import type { HandedPast, HandoffSource } from '../../transcripts/handoff/handoff-source.ts';
import { existsError, writeNewFile } from '../complete-file.ts';
import { type AgentCommand, type Environment, HANDOFF_PLACES, type HandoffPlace } from './handoff-target.ts';

/** How to hand a conversation over. */
export interface WriteTranscriptOptions {
  /** The agent that continues. */
  readonly to: HandoffTarget;
  /** The directory in which it continues: an absolute path. It may be one of another machine. */
  readonly cwd: string;
  /**
   * The agent's folder: what `CLAUDE_CONFIG_DIR` or `CODEX_HOME` name, or OpenCode's data folder `<XDG_DATA_HOME>/opencode`. Default:
   * by these variables, else in the home directory.
   */
  readonly configDir?: string;
  /** The id of the new session: a UUID, or `ses_…` for OpenCode. Default: a new one. */
  readonly sessionId?: string;
  /**
   * The model that continues, as the agent names it; for OpenCode `provider/model`. Default: the agent's own; for
   * OpenCode, whose sessions name their model, that of its newest session.
   */
  readonly model?: string;
  /**
   * What to hand over of a conversation that its agent compacted: all of it, or the newest summary and what followed it. Only
   * transcripts and conversation states hold summaries. Default: `full`.
   */
  readonly past?: HandedPast;
  /** Directories to replace in texts, inputs and results, such as `{ '/old/project': '/new/project' }`. Whole path segments only. */
  readonly paths?: PathMap;
  /** Redacts what looks like a secret. */
  readonly redact?: boolean | RedactOptions;
  /** Runs `opencode import`, with this program and environment if given. Default: false; the result has the command. */
  readonly runImport?: boolean | { readonly command?: string; readonly env?: Environment };
}

/** A conversation that was handed over. */
export interface WrittenTranscript {
  readonly sessionId: string;
  /** The file that was written. */
  readonly path: string;
  /** Continues the session without a terminal. Append the prompt as the last argument. */
  readonly resume: AgentCommand;
  /** Opens the session in the agent's own interface. */
  readonly open: AgentCommand;
  /** OpenCode only: has to run first, unless `runImport` did. */
  readonly import?: AgentCommand;
  /** What the agent that continues will not see, or sees changed. */
  readonly losses: readonly Loss[];
  /** The number of redacted secrets, by kind. */
  readonly redacted: SecretCounts;
}

const KNOWN: KnownOptions<WriteTranscriptOptions> = {
  to: true,
  cwd: true,
  configDir: true,
  sessionId: true,
  model: true,
  past: true,
  paths: true,
  redact: true,
  runImport: true,
};

/**
 * Writes a conversation as a session of Claude Code, Codex or OpenCode, which that agent can continue: recorded messages, a log, a
 * conversation state, or another agent's transcript (`loadTranscript`). The session and all ids in it are new, every call has one
 * result, and the losses are listed.
 *
 * The file is written completely or not at all, and never in place of another one: `SESSION_EXISTS` when the agent has a session with
 * the given id. Throws `INVALID_ARGUMENT` for an empty conversation and for options that cannot work.
 */
export async function writeTranscript(
  conversation: HandoffSource,
  options: WriteTranscriptOptions,
): Promise<WrittenTranscript> {
  refuseUnknownOptions('writeTranscript', options, KNOWN);
  const { to, sessionId: named, past, paths, redact } = options;
  const place = placeOf(to);
  const at = Date.now();
  const cwd = await realDirectory(options.cwd);
  const home = folderOf(options.configDir) ?? place.home(process.env);
  const model = options.model ?? (await place.newestModel?.(home));
  const built = buildTranscript(conversation, {
    ...{ to, cwd, at, newId: randomUUID, model, sessionId: named, past, paths, redact },
  });
  const { sessionId, content, losses, redacted } = built;
  if (named !== undefined) {
    const known = await place.find(home, named);
    if (known !== undefined) throw existsError(known);
  }
  const path = await writeNewFile(home, place.file({ id: sessionId, cwd, at }), content);
  const lines = place.commands({ id: sessionId, path, model: options.model });
  const env = options.configDir === undefined ? {} : place.env(home);
  const command = (args: readonly string[]): AgentCommand => ({
    ...{ command: place.command, args, cwd },
    ...(Object.keys(env).length > 0 && { env }),
  });
  const result = { sessionId, path, resume: command(lines.resume), open: command(lines.open), losses, redacted };
  if (lines.import === undefined) return result;
  const importing = command(lines.import);
  const { runImport = false } = options;
  if (runImport === false) return { ...result, import: importing };
  await run(importing, runImport === true ? {} : runImport);
  return result;
}

function placeOf(to: HandoffTarget): HandoffPlace {
  if (Object.hasOwn(HANDOFF_PLACES, to)) return HANDOFF_PLACES[to];
  const known = Object.keys(HANDOFF_PLACES).join("', '");
  throw new HoldfastError('INVALID_ARGUMENT', `a conversation can be handed to '${known}', not to "${String(to)}"`);
}

/** The directory as agents see it: without symbolic links. One that does not exist here may exist on another machine. */
async function realDirectory(cwd: string): Promise<string> {
  // `buildTranscript` refuses what is not an absolute path.
  if (!isAbsolutePath(cwd)) return cwd;
  const found = await stat(cwd).catch(() => undefined);
  if (found === undefined) return cwd;
  if (found.isDirectory()) return await realpath(cwd);
  throw new HoldfastError('INVALID_ARGUMENT', `${cwd} is not a directory; cwd is where the agent continues`);
}

function folderOf(configDir: string | undefined): string | undefined {
  if (configDir === undefined || isAbsolutePath(configDir)) return configDir;
  throw new HoldfastError('INVALID_ARGUMENT', "configDir is the absolute path of the agent's folder");
}

const MAX_OUTPUT = 2000;

/** Runs a command of an agent to its end. */
async function run(
  { command, args, cwd, env }: AgentCommand,
  options: { readonly command?: string; readonly env?: Environment },
): Promise<void> {
  const { command: program = command, env: base = process.env } = options;
  const line = [program, ...args].join(' ');
  const child = spawn(program, args, { cwd, env: { ...base, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  }
  const code = await new Promise<number | string>((resolve, reject) => {
    child.once('error', (error) => {
      const advice = `${line} cannot be run: ${messageOf(error)}; install ${command}, or pass runImport: { command }`;
      reject(new HoldfastError('DEPENDENCY_MISSING', advice, { cause: error }));
    });
    child.once('close', (status, signal) => resolve(status ?? signal ?? ''));
  });
  if (code === 0) return;
  throw new HoldfastError('STORE_FAILED', `${line} ended with ${code}: ${output.trim()}; run it again in ${cwd}`);
}
