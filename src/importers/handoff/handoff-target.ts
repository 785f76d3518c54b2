/** Where each agent keeps its sessions, and the commands that continue one. */
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { HandoffTarget } from '../../transcripts/handoff/build-transcript.ts';
import { claudeProjectFolder } from '../../transcripts/handoff/claude-writer.ts';
import { codexRolloutPath } from '../../transcripts/handoff/codex-writer.ts';
import { NO_PROVIDER } from '../../transcripts/handoff/opencode-writer.ts';
import { asName, asObject, type Json } from '../../transcripts/json-access.ts';
import { openOpenCodeDatabase } from '../opencode/database.ts';
import type { OpenCodeSessions } from '../opencode/sessions.ts';
import { listDirectory } from '../safe-files.ts';
import { walkFolder } from '../walk-folder.ts';

/** A command of an agent: run it in `cwd`, with `env` added to the environment. */
export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A written session, as its commands name it. */
export interface WrittenSession {
  readonly id: string;
  readonly path: string;
  readonly model: string | undefined;
}

/** Command lines, without the place where they run. */
interface CommandLines {
  /** Continues the session; the prompt is the last argument. */
  readonly resume: readonly string[];
  /** Opens the session for a person. */
  readonly open: readonly string[];
  /** Has to run before the others. */
  readonly import?: readonly string[];
}

/** One agent as a target: where its sessions are, and what continues them. */
export interface HandoffPlace {
  readonly command: string;
  /** Its folder, by its own variables. */
  readonly home: (env: Environment) => string;
  /** The variables that make the agent use another folder. */
  readonly env: (home: string) => Readonly<Record<string, string>>;
  /** The file of a session, below the folder. */
  readonly file: (session: { readonly id: string; readonly cwd: string; readonly at: number }) => readonly string[];
  /** The path of the session with this id, if the agent has one. */
  readonly find: (home: string, id: string) => Promise<string | undefined>;
  /** The model that the agent used last, for an agent whose sessions must name one. */
  readonly newestModel?: (home: string) => Promise<string | undefined>;
  readonly commands: (session: WrittenSession) => CommandLines;
}

const claude: HandoffPlace = {
  command: 'claude',
  home: (env) => env.CLAUDE_CONFIG_DIR || join(homedir(), '.claude'),
  env: (home) => ({ CLAUDE_CONFIG_DIR: home }),
  file: ({ id, cwd }) => ['projects', claudeProjectFolder(cwd), `${id}.jsonl`],
  // Claude Code searches all projects for an id.
  find: (home, id) => findFile(join(home, 'projects'), 1, (name) => name === `${id}.jsonl`),
  commands: ({ id, model }) => {
    const chosen = model === undefined ? [] : ['--model', model];
    return { resume: ['-p', '--resume', id, ...chosen], open: ['--resume', id, ...chosen] };
  },
};

const codex: HandoffPlace = {
  command: 'codex',
  home: (env) => env.CODEX_HOME || join(homedir(), '.codex'),
  env: (home) => ({ CODEX_HOME: home }),
  file: ({ id, at }) => codexRolloutPath(id, at),
  find: async (home, id) => {
    const isRollout = (name: string): boolean => name.startsWith('rollout-') && name.includes(id);
    return (
      (await findFile(join(home, 'sessions'), 3, isRollout)) ??
      (await findFile(join(home, 'archived_sessions'), 3, isRollout))
    );
  },
  commands: ({ id, model }) => {
    const chosen = model === undefined ? [] : ['-m', model];
    return { resume: ['exec', 'resume', ...chosen, id], open: ['resume', ...chosen, id] };
  },
};

const openCode: HandoffPlace = {
  command: 'opencode',
  home: (env) => join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'opencode'),
  env: (home): Readonly<Record<string, string>> =>
    basename(home) === 'opencode' ? { XDG_DATA_HOME: dirname(home) } : {},
  // Not where OpenCode keeps sessions: the import copies it into its database.
  file: ({ id }) => ['handoff', `${id}.json`],
  find: async (home, id) =>
    await inDatabases(home, (sessions, path) => {
      return sessions.list().some((session) => session.id === id) ? `session ${id} in ${path}` : undefined;
    }),
  // The model of its newest session: OpenCode fails when a session names one that is not configured.
  newestModel: async (home) =>
    await inDatabases(home, (sessions) => {
      const newest = sessions.list().at(-1);
      const messages = newest === undefined ? [] : [...sessions.read(newest).messages];
      return messages.map(({ info }) => modelOf(info)).findLast((model) => model !== undefined);
    }).catch(() => undefined),
  commands: ({ id, path, model }) => {
    const chosen = model === undefined ? [] : ['-m', model];
    return {
      import: ['import', path],
      resume: ['run', '--session', id, ...chosen],
      open: ['--session', id, ...chosen],
    };
  },
};

/** The agents that a conversation can be handed to. */
export const HANDOFF_PLACES: { readonly [T in HandoffTarget]: HandoffPlace } = {
  'claude-sdk': claude,
  codex,
  opencode: openCode,
};

/** The first result that is not undefined, over the databases in OpenCode's folder. */
async function inDatabases<T>(
  home: string,
  use: (sessions: OpenCodeSessions, path: string) => T | undefined,
): Promise<T | undefined> {
  for (const entry of await listDirectory(home)) {
    if (!entry.isFile() || !/^opencode.*\.db$/.test(entry.name)) continue;
    const path = join(home, entry.name);
    const sessions = await openOpenCodeDatabase(path);
    try {
      const found = use(sessions, path);
      if (found !== undefined) return found;
    } finally {
      await sessions.close();
    }
  }
  return undefined;
}

/** The model of a message, in OpenCode's notation. */
function modelOf(info: Json): string | undefined {
  const { providerID, modelID } = asObject(info.model) ?? info;
  const [provider, model] = [asName(providerID), asName(modelID)];
  // Not the name that stands for an unknown model in handed-over sessions.
  if (provider === undefined || model === undefined || provider === NO_PROVIDER) return undefined;
  return `${provider}/${model}`;
}

/** The first file of a name down to a depth below a folder. */
async function findFile(
  folder: string,
  depth: number,
  isWanted: (name: string) => boolean,
): Promise<string | undefined> {
  const found: string[] = [];
  await walkFolder(folder, depth, { file: (path) => void (isWanted(basename(path)) && found.push(path)) });
  return found[0];
}
