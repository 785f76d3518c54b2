import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdapterStateSnapshot, AdapterStateType } from '../../core/adapter-state.ts';
import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import { textOf } from '../../core/messages.ts';
import { checkSpending, pause, Suspension } from '../../loop/limits.ts';
import { currentEvaluation, nowOf, type Run } from '../../loop/run.ts';
import { failure } from '../../loop/tool-result.ts';
import { untilAborted } from '../../models/until-aborted.ts';
import { createAgentAdapter } from '../agent-adapter.ts';
import { agentProcessState, endAgentProcess, type OwnedProcess, startAgentProcess } from '../agent-process.ts';
import { defineAgentState } from '../agent-state.ts';
import { Checkpoints, captureState } from '../capture-state.ts';
import { TOOL_SERVER } from '../mcp-tools.ts';
import type { AgentState, StatefulAdapter, StatefulOptions } from '../stateful-adapter.ts';
import { ThreadRecorder } from '../thread-recorder.ts';
import { ToolRunner } from '../tool-runner.ts';
import { openBridge, PLUGIN } from './opencode-bridge.ts';
import { failed, openOpenCodeSession } from './opencode-session.ts';
import { OpenCodeThreads, openCodeEffect, recordedName, SUBAGENT_TOOL } from './opencode-threads.ts';
import type { OpenCodeClient, OpenCodeSdk } from './opencode-types.ts';

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
      let server: OwnedProcess | undefined;
      try {
        const plugin = join(directory, 'holdfast-plugin.js');
        await writeFile(plugin, PLUGIN);
        const port = await freePort();
        server = startAgentProcess({
          command: options.command ?? 'opencode',
          args: ['serve', '--hostname=127.0.0.1', `--port=${port}`],
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
        const client = sdk.createOpencodeClient({ baseUrl: await listening(run, server), directory: cwd });
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
        const { stream } = await client.event.subscribe({ signal: over.signal });
        const following = (async () => {
          for await (const event of stream) await mine.take(event);
        })();
        following.catch((error: unknown) => tools.stop({ error }));
        const asked = client.session.prompt({
          path: { id: sessionId },
          body: { ...say(run, options), parts: [{ type: 'text', text }] },
          signal: over.signal,
        });
        const answered = asked.then((answer) => ({ answer }));
        const ended = await Promise.race([answered, tools.stopped, exitOf(server)]);
        if ('plan' in ended) return;
        if ('error' in ended) throw ended.error;
        const { data, error } = ended.answer;
        if (!data || data.info.error) throw failed(JSON.stringify(data?.info.error ?? error));
        const caughtUp = await Promise.race([mine.idle, following, tools.stopped, exitOf(server)]);
        if (caughtUp && 'plan' in caughtUp) return;
        if (caughtUp) throw caughtUp.error;
        await mine.takeEntry(data);
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

const POLL_MS = 50;

/** Resolves when OpenCode has found our tools: it would ask the model without them. */
async function toolsReached(run: Run, client: OpenCodeClient): Promise<void> {
  for (;;) {
    const { data, error } = await client.mcp.status();
    if (!data) throw failed(JSON.stringify(error));
    const tools = data[TOOL_SERVER];
    if (tools?.status === 'connected') return;
    if (tools) throw failed(`it cannot use our tools: ${tools.error ?? tools.status}`);
    await pause(run.session.clock, POLL_MS, run.limits.signal);
  }
}

/** The address at which OpenCode says that it listens. */
function listening(run: Run, server: OwnedProcess): Promise<string> {
  const { child } = server;
  const said = new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const url = /listening on\s+(https?:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    });
    child.once('error', reject);
  });
  const ended = exitOf(server).then(({ error }) => Promise.reject(error));
  return untilAborted(Promise.race([said, ended]), run.limits.signal);
}

/** Resolves when OpenCode's process has ended, which it does not do by itself. */
function exitOf({ child, errors }: OwnedProcess): Promise<{ readonly error: Error }> {
  return new Promise((resolve) => {
    const tell = (): void =>
      resolve({ error: new Error(`opencode serve ended with ${child.signalCode ?? child.exitCode}: ${errors()}`) });
    if (child.exitCode !== null || child.signalCode !== null) tell();
    else child.once('exit', tell);
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
