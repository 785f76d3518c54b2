/**
 * The parts of the Claude Agent SDK that the adapter uses, as far as it uses them. The SDK is an optional peer and large, so only its
 * options are imported, where it is installed; `test/agents` holds the others to its own types.
 */

// biome-ignore lint/suspicious/noTsIgnore: it is an error only where the SDK is not installed
/** @ts-ignore: `any` where the SDK is not installed. This comment must reach the declarations, and a line comment does not. */
type InstalledOptions = import('@anthropic-ai/claude-agent-sdk').Options;

/** Options of the SDK's `query` that the adapter sets itself. */
type SetByAdapter =
  | 'cwd'
  | 'resume'
  | 'sessionId'
  | 'sessionStore'
  | 'sessionStoreFlush'
  | 'spawnClaudeCodeProcess'
  | 'includePartialMessages'
  | 'forwardSubagentText';

/** The options of the SDK's `query`, beside those that the adapter sets; any options where the SDK is not installed. */
export type ClaudeQueryOptions = 0 extends 1 & InstalledOptions
  ? Readonly<Record<string, unknown>>
  : Readonly<Omit<InstalledOptions, SetByAdapter>>;

/** Names a transcript: the session's own, or with a subpath one of its subagents'. */
export interface ClaudeSessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

/** One line of a transcript. Opaque but for these fields. */
export interface ClaudeTranscriptEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** What the SDK wants to know of a session without reading it; `data` is the SDK's own. */
export interface ClaudeSessionSummary {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

/** Folds new entries into a session's summary: the SDK's `foldSessionSummary`. */
export type FoldSessionSummary = (
  previous: ClaudeSessionSummary | undefined,
  key: ClaudeSessionKey,
  entries: ClaudeTranscriptEntry[],
  options?: { mtime?: number },
) => ClaudeSessionSummary;

/** The SDK's `SessionStore`, every optional method included. */
export interface ClaudeSessionStore {
  append(key: ClaudeSessionKey, entries: readonly ClaudeTranscriptEntry[]): Promise<void>;
  load(key: ClaudeSessionKey): Promise<ClaudeTranscriptEntry[] | null>;
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries(projectKey: string): Promise<ClaudeSessionSummary[]>;
  delete(key: ClaudeSessionKey): Promise<void>;
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}

/** A content block of the Messages API. */
export interface ClaudeBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A message of the SDK's stream. Only what every message has; the rest is read with care. */
export interface ClaudeMessage {
  readonly type: string;
  readonly subtype?: string;
  readonly session_id?: string;
  readonly [field: string]: unknown;
}

/** The input of a hook. */
export interface ClaudeHookInput {
  readonly hook_event_name: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string;
  readonly agent_id?: string;
  /** The calls of a turn that have ended. */
  readonly tool_calls?: readonly { readonly tool_use_id: string; readonly tool_name: string }[];
}

/** A child process as the SDK handles it; Node's own fits. */
export interface ClaudeSpawnOptions {
  command: string;
  args: string[];
  cwd?: string;
  env: { [name: string]: string | undefined };
}

/** A query in progress. */
export interface ClaudeQuery extends AsyncIterable<ClaudeMessage> {
  close?(): void;
  /** Hands user messages to the agent while it runs. */
  streamInput?(stream: AsyncIterable<unknown>): Promise<void>;
}

/** The module `@anthropic-ai/claude-agent-sdk`, as far as it is used. */
export interface ClaudeAgentSdk {
  query(request: { prompt: unknown; options?: Record<string, unknown> }): ClaudeQuery;
  foldSessionSummary?: FoldSessionSummary;
}
