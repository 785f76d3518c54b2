/** The agents whose transcripts can be read, by the name of their architecture, and the names that people know them by. */
export const AGENT_NAMES = {
  'claude-sdk': 'Claude Code',
  codex: 'Codex',
  opencode: 'OpenCode',
} as const;

/** The agents whose transcripts can be read. */
export type Architecture = keyof typeof AGENT_NAMES;
