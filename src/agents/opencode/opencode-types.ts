/** The parts of `@opencode-ai/sdk` that the adapter uses, as far as it uses them; `test/agents` runs against the real one. */
import type { AgentState } from '../agent-state.ts';
import type { StatefulOptions } from '../stateful-adapter.ts';

interface Reply<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
}

export interface OpenCodePart {
  readonly id: string;
  readonly sessionID: string;
  readonly messageID: string;
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly callID?: string;
  readonly time?: { readonly start?: number; readonly end?: number };
  readonly state?: {
    readonly status: string;
    readonly input?: unknown;
    readonly output?: string;
    readonly error?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
}

export interface OpenCodeMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly role: string;
  readonly modelID?: string;
  readonly cost?: number;
  readonly error?: unknown;
  readonly time: { readonly created: number; readonly completed?: number };
  readonly tokens?: {
    readonly input: number;
    readonly output: number;
    readonly reasoning: number;
    readonly cache: { readonly read: number; readonly write: number };
  };
}

export interface OpenCodeEntry {
  readonly info: OpenCodeMessage;
  readonly parts: readonly OpenCodePart[];
}

export interface OpenCodeEvent {
  readonly type: string;
  readonly properties: {
    readonly info?: OpenCodeMessage;
    readonly part?: OpenCodePart;
    readonly id?: string;
    readonly questions?: readonly unknown[];
    readonly sessionID?: string;
    readonly messageID?: string;
    readonly partID?: string;
    readonly field?: string;
    readonly delta?: string;
    readonly status?: { readonly type: string };
    readonly error?: unknown;
  };
}

export interface OpenCodePrompt {
  readonly system?: string;
  readonly model?: { readonly providerID: string; readonly modelID: string };
  readonly parts: readonly object[];
}

export interface OpenCodeClient {
  readonly session: {
    create(options: { body: { title?: string } }): Promise<Reply<{ readonly id: string }>>;
    get(options: { path: { id: string } }): Promise<Reply<{ readonly id: string; readonly parentID?: string }>>;
    fork(options: { path: { id: string }; body: object }): Promise<Reply<{ readonly id: string }>>;
    messages(options: { path: { id: string }; query?: { limit: number } }): Promise<Reply<readonly OpenCodeEntry[]>>;
    promptAsync(options: { path: { id: string }; body: OpenCodePrompt; signal: AbortSignal }): Promise<Reply<unknown>>;
  };
  readonly mcp: {
    status(): Promise<Reply<Readonly<Record<string, { readonly status: string; readonly error?: string }>>>>;
  };
  readonly event: {
    subscribe(options: {
      signal: AbortSignal;
      sseMaxRetryAttempts: number;
    }): Promise<{ readonly stream: AsyncIterable<OpenCodeEvent> }>;
  };
}

/** The module `@opencode-ai/sdk`. */
export interface OpenCodeSdk {
  createOpencodeClient(config: {
    baseUrl: string;
    directory: string;
    headers: Readonly<Record<string, string>>;
  }): OpenCodeClient;
}

/** Options of `openCodeAdapter`. */
export interface OpenCodeOptions extends StatefulOptions {
  /** Where the agent works. */
  readonly cwd?: string;
  /** `provider/model`, as OpenCode names it. */
  readonly model?: string;
  /** OpenCode's program; `opencode` on the path unless given. */
  readonly command?: string;
  /** The agent's whole environment; by default this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** OpenCode's configuration: providers, permissions, agents. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The SDK's module; by default the installed package. */
  readonly sdk?: OpenCodeSdk;
}

/** What OpenCode needs to continue: the id of its session, and the fields that validation checks. */
export interface OpenCodeState extends AgentState {
  readonly adapterType: 'opencode';
}
