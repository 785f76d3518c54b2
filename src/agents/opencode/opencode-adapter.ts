import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { AdapterStateType } from '../../core/log/adapter-state.ts';
import { checkBudget } from '../../loop/request/spending.ts';
import { createAgentAdapter } from '../agent-adapter.ts';
import { defineAgentState } from '../agent-state.ts';
import { loadPackage } from '../load-package.ts';
import { STATEFUL_OPTIONS, type StatefulAdapter } from '../stateful-adapter.ts';
import { isBuiltIn, openCodeEffect, SUBAGENT_TOOL } from './built-in-tools.ts';
import { runOpenCode } from './opencode-run.ts';
import type { OpenCodeOptions, OpenCodeSdk, OpenCodeState } from './opencode-types.ts';

/** The adapter type of OpenCode. */
export const OPENCODE: OpenCodeState['adapterType'] = 'opencode';

/** The kind of adapter state that OpenCode has. */
export const openCodeState: AdapterStateType<OpenCodeState> = defineAgentState<OpenCodeState>(OPENCODE);

const PACKAGE = '@opencode-ai/sdk';
const NOT_INSTALLED = `OpenCode's SDK is not installed: npm install ${PACKAGE} opencode-ai`;

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
    // No `catchUp`: our log is written before OpenCode acts, so it is never behind in what matters.
    builtIn: { has: isBuiltIn, effect: openCodeEffect, isSubagentCall: (name) => name === SUBAGENT_TOOL },
    async ask(run, context) {
      checkBudget(run, context.turn);
      const sdk = options.sdk ?? (await loadPackage<OpenCodeSdk>(PACKAGE, NOT_INSTALLED));
      await runOpenCode(run, { ...options, cwd, sdk }, context);
    },
  });
}
