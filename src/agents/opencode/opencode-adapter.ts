import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdapterStateSnapshot, AdapterStateType } from '../../core/adapter-state.ts';
import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import { textOf } from '../../core/messages.ts';
import { checkSpending, Suspension } from '../../loop/limits.ts';
import { currentEvaluation, nowOf, type Run } from '../../loop/run.ts';
import { failure } from '../../loop/tool-result.ts';
import { createAgentAdapter } from '../agent-adapter.ts';
import { agentProcessState, endAgentProcess } from '../agent-process.ts';
import { defineAgentState } from '../agent-state.ts';
import { Checkpoints, captureState } from '../capture-state.ts';
import { TOOL_SERVER } from '../mcp-tools.ts';
import type { AgentState, StatefulAdapter, StatefulOptions } from '../stateful-adapter.ts';
import { ThreadRecorder } from '../thread-recorder.ts';
import { ToolRunner } from '../tool-runner.ts';
import { openBridge, PLUGIN } from './opencode-bridge.ts';
import { connect, exitOf, type OpenCodeServer, startServer, toolsReached } from './opencode-server.ts';
import { failed, openOpenCodeSession } from './opencode-session.ts';
import { OpenCodeThreads, openCodeEffect, recordedName, SUBAGENT_TOOL } from './opencode-threads.ts';
import type { OpenCodeSdk } from './opencode-types.ts';

/** What OpenCode needs to continue: the name of its session, and what tells whether it still fits (D25). */
export interface OpenCodeState extends AgentState {
  readonly adapterType: 'opencode';
}

/** The adapter type of OpenCode. */
export const OPENCODE: OpenCodeState['adapterType'] = 'opencode';

/** The kind of adapter state that OpenCode has. */
export const openCodeState: AdapterStateType<OpenCodeState> = defineAgentState<OpenCodeState>(OPENCODE);

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
const CONTINUATION = 'Continue where you left off.';
/** What a timer can wait at most. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Runs prompts with OpenCode: its loop, our log. OpenCode keeps its sessions itself, so a resume needs the same data directory. */
export function openCodeAdapter(options: OpenCodeOptions = {}): StatefulAdapter {
  const { cwd = process.cwd(), captureState: capturing = true } = options;
  return createAgentAdapter<OpenCodeState>({
    stateType: openCodeState,
    options,
    workspacePath: cwd,
    check: () => {},
    exists: async () => true, // only OpenCode knows: it is asked when it runs
    catchUp: async () => {}, // our log is written before OpenCode acts: it is never behind in what matters
    builtIn: { effect: openCodeEffect, isSubagentCall: (name) => name === SUBAGENT_TOOL },
    async ask(run, { turn, from, running }) {
      checkSpending(currentEvaluation(run).totalUsage, turn, run.options);
      const sdk = await loadSdk(options.sdk);
      const startedAt = nowOf(run);
      let sessionId = from?.sessionId ?? '';
      let complete = false;
      const capture = async (): Promise<AdapterStateSnapshot | undefined> =>
        capturing && sessionId !== ''
          ? captureState(run, openCodeState, {
              adapterType: OPENCODE,
              sessionId,
              createdAt: from?.createdAt ?? startedAt,
              lastActivityAt: nowOf(run),
              workspacePath: cwd,
              promptNs: run.prompt.ns,
              promptKey: run.prompt.key,
              promptHash: run.prompt.hash,
              messageCount: currentEvaluation(run).nextSequence,
              complete,
            })
          : undefined;
      const checkpoints = new Checkpoints(run, options.checkpoint ?? 'on-tool-use', capture);
      running(capture);
      const tools = new ToolRunner(run, () => checkpoints.toolUsed());
      const abort = (): void => void tools.stop({ error: run.limits.signal.reason });
      run.limits.check();
      run.limits.signal.addEventListener('abort', abort, { once: true });
      let threads: OpenCodeThreads | undefined;
      /** Calls of ours that the plugin has told of and that the MCP client has not made yet: it does not name them. */
      const announced: { readonly callId: string; readonly name: string; readonly args: string }[] = [];
      const bridge = await openBridge({
        tools: run.prompt.tools,
        before: async ({ tool, callID }) => {
          try {
            const thread = await threads?.recorded(callID);
            if (!thread) return;
            if (recordedName(tool) === tool) return await tools.beforeBuiltIn(thread, callID, openCodeEffect(tool));
            await tools.before(thread, callID);
            const call = thread.call(callID);
            if (call)
              announced.push({ callId: callID, name: call.name, args: canonicalJson(JSON.parse(call.arguments)) });
          } catch (error) {
            return tools.stop({ error });
          }
        },
        call: async (name, args) => {
          const wanted = canonicalJson(args ?? {});
          const at = announced.findIndex((one) => one.name === name && one.args === wanted);
          const [found] = at < 0 ? [] : announced.splice(at, 1);
          if (!found) return failure(`this call of "${name}" was not announced; make it again`);
          return tools.call(threads?.threadOf(found.callId), found.callId);
        },
      });
      const directory = await mkdtemp(join(tmpdir(), 'holdfast-opencode-'));
      /** Ends the requests that are under way: the SDK would ask a server that is gone again and again. */
      const over = new AbortController();
      let server: OpenCodeServer | undefined;
      try {
        const plugin = join(directory, 'holdfast-plugin.js');
        await writeFile(plugin, PLUGIN);
        server = await startServer({
          command: options.command ?? 'opencode',
          cwd,
          env: {
            ...(options.env ?? process.env),
            HOLDFAST_BRIDGE: bridge.url,
            OPENCODE_CONFIG_CONTENT: JSON.stringify(
              configure(options, { bridge: bridge.url, plugin, tools: run.prompt.tools.length }),
            ),
          },
        });
        await captureState(run, agentProcessState, server.state);
        const { client, answerFor } = await connect(run, server, { sdk, cwd });
        if (run.prompt.tools.length > 0) await toolsReached(run, client);
        const start = await openOpenCodeSession(run, client, {
          from,
          fork: options.fork ?? true,
          restart: options.onInvalid === 'restart',
        });
        sessionId = start.sessionId;
        await checkpoints.begun();
        if (start.continues)
          await new ThreadRecorder(run).user([{ type: 'text', text: options.continuation ?? CONTINUATION }]);
        const mine = new OpenCodeThreads(run, { sessionId, old: start.old, used: () => checkpoints.toolUsed() });
        threads = mine;
        const text = [start.prompt ?? options.continuation ?? CONTINUATION, start.note].filter(Boolean).join('\n\n');
        const { stream } = await client.event.subscribe({ signal: over.signal, sseMaxRetryAttempts: 1 });
        const ask = async (): Promise<void> => {
          // Not the request that answers when all is done: clients give up on one that says nothing for minutes.
          const { error } = await client.session.promptAsync({
            path: { id: sessionId },
            body: { ...say(run, options), parts: [{ type: 'text', text }] },
            signal: over.signal,
          });
          if (error !== undefined) throw failed(JSON.stringify(error));
        };
        const following = mine.follow(stream, { ask, answerFor });
        const stop = await Promise.race([following, tools.stopped, exitOf(server)]);
        if (stop && 'plan' in stop) return;
        if (stop) throw stop.error;
        if (currentEvaluation(run).messages.at(-1)?.role !== 'assistant') throw failed('it gave no answer');
        complete = true;
      } catch (error) {
        run.limits.check();
        if (error instanceof Suspension || error instanceof HoldfastError) throw error;
        throw failed(`${messageOf(error)} ${server?.errors() ?? ''}`.trim());
      } finally {
        run.limits.signal.removeEventListener('abort', abort);
        over.abort();
        await tools.idle();
        if (server) await endAgentProcess(server.state);
        await bridge.close();
        await rm(directory, { recursive: true, force: true });
        const { aborted, reason } = run.limits.signal;
        await threads?.interrupt(aborted ? reason : undefined);
        if (!aborted || reason instanceof Suspension) await checkpoints.ended();
      }
    },
  });
}

async function loadSdk(given: OpenCodeSdk | undefined): Promise<OpenCodeSdk> {
  if (given) return given;
  const name: string = PACKAGE; // not a literal: the compiler must not look for an optional peer
  try {
    return (await import(name)) as OpenCodeSdk;
  } catch (cause) {
    throw new HoldfastError(
      'DEPENDENCY_MISSING',
      `OpenCode's SDK is not installed: npm install ${PACKAGE} opencode-ai`,
      { cause },
    );
  }
}

function configure(
  { config = {}, model }: OpenCodeOptions,
  ours: { readonly bridge: string; readonly plugin: string; readonly tools: number },
): Record<string, unknown> {
  // Our tools say themselves how long they may take.
  const mcp = { type: 'remote', url: `${ours.bridge}/mcp`, enabled: true, oauth: false, timeout: MAX_TIMEOUT_MS };
  return {
    autoupdate: false,
    share: 'disabled',
    ...config,
    ...(model !== undefined && { model }),
    mcp: { ...(config.mcp as object | undefined), ...(ours.tools > 0 && { [TOOL_SERVER]: mcp }) },
    plugin: [...((config.plugin as readonly string[] | undefined) ?? []), `file://${ours.plugin}`],
  };
}

function say(
  run: Run,
  { model }: OpenCodeOptions,
): { system?: string; model?: { providerID: string; modelID: string } } {
  const system = currentEvaluation(run).messages.at(0);
  const [providerID = '', ...rest] = model?.split('/') ?? [];
  return {
    ...(system?.role === 'system' && { system: textOf(system) }),
    ...(rest.length > 0 && { model: { providerID, modelID: rest.join('/') } }),
  };
}
