import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import { openCalls } from '../../core/fold/evaluations.ts';
import { textOf } from '../../core/log/messages.ts';
import { failure, type ToolOutcome } from '../../loop/define/tool-result.ts';
import { placeSteers } from '../../loop/evaluate/place-steers.ts';
import { currentEvaluation, type Run } from '../../loop/evaluate/run.ts';
import { Suspension } from '../../loop/evaluate/suspension.ts';
import { pause } from '../../loop/request/pause.ts';
import { checkBudget } from '../../loop/request/spending.ts';
import { argumentsOf } from '../../session/people/call-arguments.ts';
import type { AskContext } from '../agent-adapter.ts';
import { agentProcessState, endOwnProcess } from '../agent-process.ts';
import { type CaptureSchedule, recordState } from '../capture-state.ts';
import { asContent, ConversationRecorder } from '../conversation-recorder.ts';
import { TOOL_SERVER } from '../serve-mcp-request.ts';
import { ToolRunner } from '../tool-runner.ts';
import { openCodeEffect, recordedName, SUBAGENT_TOOL } from './built-in-tools.ts';
import { type BeforeTool, type OpenCodeBridge, openBridge } from './opencode-bridge.ts';
import { OpenCodeConversations } from './opencode-conversations.ts';
import { PLUGIN } from './opencode-plugin.ts';
import { connect, type OpenCodeServer, startServer, toolsReached } from './opencode-server.ts';
import { failed, openOpenCodeSession, partsOf } from './opencode-session.ts';
import type { OpenCodeClient, OpenCodeOptions, OpenCodePrompt, OpenCodeState } from './opencode-types.ts';

/** The caller's options, with the module and the directory. */
type OpenCodeRunOptions = OpenCodeOptions & Required<Pick<OpenCodeOptions, 'sdk' | 'cwd'>>;

/** Runs OpenCode once, recording as it goes; returns when it is done, or when the log has to be asked what is next. */
export async function runOpenCode(
  run: Run,
  options: OpenCodeRunOptions,
  context: AskContext<OpenCodeState>,
): Promise<void> {
  await new OpenCodeRun(run, options, context).toEnd();
}

interface Announced {
  readonly conversation: ConversationRecorder;
  readonly callId: string;
  readonly name: string;
  readonly args: string;
}

class OpenCodeRun {
  readonly #run: Run;
  readonly #options: OpenCodeRunOptions;
  readonly #context: AskContext<OpenCodeState>;
  readonly #captures: CaptureSchedule;
  readonly #tools: ToolRunner;
  /** Ends the requests that are under way: the SDK would ask an ended server again and again. */
  readonly #over = new AbortController();
  /** Calls of ours that the plugin has announced and that the MCP client has not made yet: it sends no call id. */
  readonly #announced: Announced[] = [];
  #bridge: OpenCodeBridge | undefined;
  #directory: string | undefined;
  #server: OpenCodeServer | undefined;
  #client: OpenCodeClient | undefined;
  #conversations: OpenCodeConversations | undefined;
  #sessionId: string;
  #complete = false;

  constructor(run: Run, options: OpenCodeRunOptions, context: AskContext<OpenCodeState>) {
    this.#run = run;
    this.#options = options;
    this.#context = context;
    this.#sessionId = context.from?.sessionId ?? '';
    this.#captures = context.captures(() =>
      this.#sessionId === '' ? undefined : { sessionId: this.#sessionId, complete: this.#complete },
    );
    this.#tools = new ToolRunner(run, {
      used: () => this.#captures.toolUsed(),
      conversations: () => this.#conversations?.recorders ?? [],
      isSubagentCall: (name) => name === SUBAGENT_TOOL,
    });
  }

  async toEnd(): Promise<void> {
    const { aborter } = this.#run;
    try {
      aborter.check();
      const server = await this.#start();
      const exited = server.exited.then((error) => Promise.reject(error));
      if (!(await this.#tools.untilStopped(Promise.race([this.#converse(server), exited])))) return;
      if (currentEvaluation(this.#run).messages.at(-1)?.role !== 'assistant') throw failed('there is no response');
      this.#complete = true;
    } catch (error) {
      aborter.check();
      if (error instanceof Suspension || error instanceof HoldfastError) throw error;
      throw failed(`${messageOf(error)} ${this.#server?.errors() ?? ''}`.trim());
    } finally {
      await this.#close();
    }
  }

  /** Starts OpenCode's server. It is in the log before it can act. */
  async #start(): Promise<OpenCodeServer> {
    const { command = 'opencode', cwd, env = process.env } = this.#options;
    const bridge = await openBridge({
      tools: this.#run.prompt.tools,
      before: async (call) => {
        await this.#checkOurs(call.sessionID);
        await this.#orStop(this.#beforeTool(call));
      },
      request: async (sessionId) => {
        await this.#checkOurs(sessionId);
        await this.#orStop(this.#beforeRequest(sessionId));
      },
      call: (name, args) => this.#call(name, args),
    });
    this.#bridge = bridge;
    this.#directory = await mkdtemp(join(tmpdir(), 'holdfast-opencode-'));
    const plugin = join(this.#directory, 'holdfast-plugin.js');
    await writeFile(plugin, PLUGIN);
    const config = JSON.stringify(this.#config(plugin));
    const server = await startServer({
      command,
      cwd,
      env: { ...env, OPENCODE_CONFIG_CONTENT: config },
      scratch: this.#directory,
      plugin: { bridge: bridge.url, mcp: this.#mcp(bridge.url) },
    });
    this.#server = server;
    await recordState(this.#run, agentProcessState, { ...server.state, sessionId: this.#run.session.id });
    return server;
  }

  /** Prompts OpenCode and records its events until it is idle. */
  async #converse(server: OpenCodeServer): Promise<void> {
    const { sdk, cwd, onInvalid } = this.#options;
    const { from, fork, continuation } = this.#context;
    const { client, respondTo } = await connect(this.#run, server, { sdk, cwd });
    this.#client = client;
    if (this.#run.prompt.tools.length > 0) await toolsReached(this.#run, client);
    const start = await openOpenCodeSession(this.#run, client, {
      from: from?.sessionId,
      fork,
      restart: onInvalid === 'restart',
    });
    await this.#pluginLoaded();
    this.#sessionId = start.sessionId;
    await this.#captures.begun();
    if (start.prompt.length === 0) await new ConversationRecorder(this.#run).recordUser(asContent(continuation));
    const conversations = new OpenCodeConversations(this.#run, {
      sessionId: start.sessionId,
      old: start.old,
      used: () => this.#captures.toolUsed(),
    });
    this.#conversations = conversations;
    const parts = partsOf([
      ...(start.prompt.length > 0 ? start.prompt : asContent(continuation)),
      ...(start.note === undefined ? [] : asContent(start.note)),
    ]);
    const { signal } = this.#over;
    const { stream } = await client.event.subscribe({ signal, sseMaxRetryAttempts: 1 });
    const ask = async (): Promise<void> => {
      // Not the request that returns when all is done: clients give up on one that is silent for minutes.
      const path = { id: start.sessionId };
      const { error } = await client.session.promptAsync({ path, body: { ...this.#promptOptions(), parts }, signal });
      if (error !== undefined) throw failed(JSON.stringify(error));
    };
    await conversations.follow(stream, { ask, respondTo });
  }

  /** Waits for our plugin: without it tools would act before their start is in the log. */
  async #pluginLoaded(): Promise<void> {
    const { session, aborter } = this.#run;
    const loaded = new AbortController();
    const late = pause(session.clock, PLUGIN_MS, AbortSignal.any([aborter.signal, loaded.signal]));
    try {
      await Promise.race([this.#bridge?.ready, late.then(() => Promise.reject(failed(NO_PLUGIN)))]);
    } finally {
      loaded.abort();
    }
  }

  /**
   * Throws for sessions that are not recorded: any program with OpenCode's password can open one. A subagent's session is ours
   * once OpenCode has reported its call.
   */
  async #checkOurs(sessionId: string): Promise<void> {
    const [client, conversations] = [this.#client, this.#conversations];
    for (let id: string | undefined = sessionId; client && conversations && id !== undefined; ) {
      if (conversations.isOurs(id)) return conversations.known(sessionId);
      id = (await client.session.get({ path: { id } })).data?.parentID;
    }
    throw new Error(`${sessionId} is not the session that this server was started for, nor a subagent of it`);
  }

  /** Before a tool runs: its call is in the log, and that it starts (D57). */
  async #beforeTool({ tool, sessionID, callID }: BeforeTool): Promise<void> {
    const recorded = await this.#conversations?.recorded(sessionID, callID);
    if (!recorded) return;
    const { callId, conversation } = recorded;
    if (recordedName(tool) === tool) return this.#tools.beforeBuiltIn(conversation, callId, openCodeEffect(tool));
    await this.#tools.before(conversation, callId);
    const call = conversation.call(callId);
    const args = call && (await argumentsOf(conversation.run.session, call)); // OpenCode passes the exact ones
    if (call && args !== undefined)
      this.#announced.push({ conversation, callId, name: call.name, args: canonicalJson(JSON.parse(args)) });
  }

  /** Before a request to the model: checks budget and turns (D23). Everything before this request is in the log then. */
  async #beforeRequest(sessionId: string): Promise<void> {
    if (!this.#client || !this.#conversations) return;
    const { data } = await this.#client.session.messages({ path: { id: sessionId }, query: { limit: 1 } });
    const newest = data?.at(-1)?.info;
    if (newest?.role === 'assistant') await this.#conversations.messageArrived(sessionId, newest.id);
    const { turn } = currentEvaluation(this.#run);
    // A subagent's turns are its own; what it costs is everyone's (D52).
    checkBudget(this.#run, sessionId === this.#sessionId ? turn + 1 : 0);
    if (sessionId === this.#sessionId) await this.#steer();
  }

  /**
   * Between two requests: places the steers that were sent meanwhile and ends this run of OpenCode; the loop plans again and asks
   * with them (D61). A prompt to the running OpenCode would miss the request that it is about to make: after a crash the log could
   * not show which response has seen the steer.
   */
  async #steer(): Promise<void> {
    await this.#run.session.refresh().catch(() => {}); // a steer that is not seen now is seen next time
    const evaluation = currentEvaluation(this.#run);
    if (evaluation.messages.at(-1)?.role !== 'tool' || openCalls(evaluation).length > 0) return; // not between two turns
    await placeSteers(this.#run);
    if (currentEvaluation(this.#run).messages.at(-1)?.role === 'user') await this.#tools.stop({ plan: true });
  }

  async #call(name: string, args: unknown): Promise<ToolOutcome> {
    const wanted = canonicalJson(args ?? {});
    const at = this.#announced.findIndex((one) => one.name === name && one.args === wanted);
    const [found] = at < 0 ? [] : this.#announced.splice(at, 1);
    if (!found) return failure(`this call of "${name}" was not announced; make it again`);
    return this.#tools.call(found.conversation, found.callId);
  }

  /** Stops the run when the work fails: what cannot be recorded, or is not allowed, must not be done. The model does not see the error. */
  #orStop(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.#tools.stop({ error }));
  }

  /** Our tools, as OpenCode reaches them. Each limits its own time. */
  #mcp(bridge: string): Record<string, unknown> {
    if (this.#run.prompt.tools.length === 0) return {};
    const url = `${bridge}/mcp`;
    return { [TOOL_SERVER]: { type: 'remote', url, enabled: true, oauth: false, timeout: MAX_TIMEOUT_MS } };
  }

  #config(plugin: string): Record<string, unknown> {
    const { config = {}, model } = this.#options;
    return {
      autoupdate: false,
      share: 'disabled',
      ...config,
      ...(model !== undefined && { model }),
      plugin: [...((config.plugin as readonly string[] | undefined) ?? []), pathToFileURL(plugin).href],
    };
  }

  #promptOptions(): Omit<OpenCodePrompt, 'parts'> {
    const { output } = this.#run.prompt;
    const system = currentEvaluation(this.#run).messages.at(0);
    const instructions = [
      ...(system?.role === 'system' ? [textOf(system)] : []),
      // In words: a session that was asked with OpenCode's own `format` can be neither read nor forked again (1.18).
      ...(output ? [`${RESPOND_AS_JSON}\n${JSON.stringify(output.jsonSchema)}`] : []),
    ];
    const [providerID = '', ...rest] = this.#options.model?.split('/') ?? [];
    return {
      ...(instructions.length > 0 && { system: instructions.join('\n\n') }),
      ...(rest.length > 0 && { model: { providerID, modelID: rest.join('/') } }),
    };
  }

  /** Ends the process and everything of it. Running calls of ours may finish: their results are recorded. */
  async #close(): Promise<void> {
    this.#over.abort();
    this.#captures.stop();
    await this.#tools.idle();
    if (this.#server) await endOwnProcess(this.#server);
    await this.#bridge?.close();
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true, force: true });
    const { aborted, reason } = this.#run.aborter.signal;
    await this.#conversations?.interrupt(aborted ? reason : undefined);
    await this.#captures.ended();
  }
}

const RESPOND_AS_JSON = 'When you are done, answer with nothing but JSON that fits this JSON Schema:';

/** How long OpenCode may take to load our plugin, which it does before it makes a session. */
const PLUGIN_MS = 60_000;
const NO_PLUGIN = 'it did not load the plugin that announces each tool';

/** What a timer can wait at most. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
