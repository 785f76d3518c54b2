/** Where the agents store their sessions unless they are configured otherwise. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The usual folders of all agents; some of them may not exist. */
export function defaultRoots(env: NodeJS.ProcessEnv = process.env, home: string = homedir()): readonly string[] {
  const claude = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const codex = env.CODEX_HOME || join(home, '.codex');
  const data = env.XDG_DATA_HOME || join(home, '.local', 'share');
  return [
    join(claude, 'projects'),
    join(codex, 'sessions'),
    join(codex, 'archived_sessions'),
    join(data, 'opencode'),
    ...(env.OPENCODE_DB ? [env.OPENCODE_DB] : []),
  ];
}
