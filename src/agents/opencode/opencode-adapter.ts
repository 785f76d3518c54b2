import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { AdapterStateType } from '../../core/log/adapter-state.ts';
import { checkBudget } from '../../loop/request/spending.ts';
import { createAgentAdapter } from '../agent-adapter.ts';
import { type AgentState, defineAgentState } from '../agent-state.ts';
import { loadPackage } from '../load-package.ts';
import { STATEFUL_OPTIONS, type StatefulAdapter, type StatefulOptions } from '../stateful-adapter.ts';
import { isBuiltIn, openCodeEffect, SUBAGENT_TOOL } from './built-in-tools.ts';
import { runOpenCode } from './opencode-run.ts';
import type { OpenCodeSdk } from './opencode-types.ts';

/** What OpenCode needs to continue: the id of its session, and the fields that validation checks (D25). */
export interface OpenCodeState extends AgentState {
  readonly adapterType: 'opencode';
}

/** The adapter type of OpenCode. */
export const OPENCODE: OpenCodeState['adapterType'] = 'opencode';

/** The kind of adapter state that OpenCode has. */
export const openCodeState: AdapterStateType<OpenCodeState> = defineAgentState<OpenCodeState>(OPENCODE);

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

const PACKAGE = '@opencode-ai/sdk';

const KNOWN: KnownOptions<OpenCodeOptions> = {
  ...STATEFUL_OPTIONS,
  cwd: true,
  model: true,
  command: true,
  env: true,
  config: true,
  sdk: true,
};

/** Runs prompts with OpenCode: its loop, our log. OpenCode keeps its sessions itself, so a resume needs the same data directory. */
export function openCodeAdapter(options: OpenCodeOptions = {}): StatefulAdapter {
  refuseUnknownOptions('openCodeAdapter', options, KNOWN);
  const { cwd = process.cwd() } = options;
  return createAgentAdapter<OpenCodeState>({
    name: 'OpenCode',
    stateType: openCodeState,
    options,
    workspacePath: cwd,
    exists: async () => true, // only OpenCode knows: the run finds out
    catchUp: async () => {}, // our log is written before OpenCode acts: it is never behind in what matters
    builtIn: { has: isBuiltIn, effect: openCodeEffect, isSubagentCall: (name) => name === SUBAGENT_TOOL },
    async ask(run, { turn, from, fork, continuation, captures }) {
      checkBudget(run, turn);
      await runOpenCode(run, {
        sdk:
          options.sdk ??
          (await loadPackage<OpenCodeSdk>(
            PACKAGE,
            `OpenCode's SDK is not installed: npm install ${PACKAGE} opencode-ai`,
          )),
        command: options.command ?? 'opencode',
        cwd,
        model: options.model,
        env: options.env ?? process.env,
        config: options.config ?? {},
        from: from?.sessionId,
        fork,
        restart: options.onInvalid === 'restart',
        continuation,
        captures,
      });
    },
  });
}
