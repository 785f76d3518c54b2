import { randomUUID } from 'node:crypto';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { ReachedLimit } from '../../core/log/events.ts';
import type { UserMessage } from '../../core/log/messages.ts';
import type { AnyTool } from '../../loop/define/define-tool.ts';
import type { ToolOutcome } from '../../loop/define/tool-result.ts';
import { currentEvaluation, type Run } from '../../loop/evaluate/run.ts';
import { Suspension } from '../../loop/evaluate/suspension.ts';
import { pause } from '../../loop/request/pause.ts';
import { checkBudget } from '../../loop/request/spending.ts';
import { agentProcessState, endOwnProcess, type OwnedProcess, startAgentProcess } from '../agent-process.ts';
import { type CaptureSchedule, recordState } from '../capture-state.ts';
import { type McpMessage, serveMcpRequest, TOOL_SERVER } from '../serve-mcp-request.ts';
import { ToolRunner } from '../tool-runner.ts';
import { builtInEffect, isSubagentCall, recordedName } from './built-in-tools.ts';
import { OUTPUT_TOOL, writeContent } from './claude-blocks.ts';
import { ClaudeConversations } from './claude-conversations.ts';
import { ClaudeSteers } from './claude-steers.ts';
import type { ClaudeAgentSdk, ClaudeHookInput, ClaudeMessage, ClaudeQuery, ClaudeSpawnOptions } from './sdk-types.ts';

/** What one run of Claude Code is started with. */
export interface ClaudeRunOptions {
  readonly sdk: ClaudeAgentSdk;
  readonly prompt: UserMessage['content'];
  /** Options for the SDK's `query`: the caller's, and those that name the session. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Captures the state from now on; `complete` once the agent has reported that it is done. */
  readonly captures: (progress: () => { readonly complete: boolean; readonly costUsd?: number }) => CaptureSchedule;
  readonly onMessage?: ((message: ClaudeMessage) => void) | undefined;
}

/** How long a hook may wait for a response to be recorded, in seconds: as long as a response may take. */
const HOOK_TIMEOUT_S = 3_600;

/** How long the SDK's stream may take to end once its process has ended. */
const STREAM_END_MS = 5_000;

/** Runs Claude Code once, recording as it goes; returns when it is done, or when the log has to be asked what is next. */
export async function runClaudeQuery(run: Run, given: ClaudeRunOptions): Promise<void> {
  await new ClaudeQueryRun(run, given).toEnd();
}

class ClaudeQueryRun {
  readonly #run: Run;
  readonly #given: ClaudeRunOptions;
  readonly #conversations: ClaudeConversations;
  readonly #captures: CaptureSchedule;
  readonly #tools: ToolRunner;
  readonly #steers: ClaudeSteers;
  /** The process is in the log: from then on it may act. */
  readonly #registered = Promise.withResolvers<void>();
  #process: OwnedProcess | undefined;
  /** The SDK's messages were all taken in. Never rejects. */
  #consumed: Promise<void> = Promise.resolve();
  /** The message that is being recorded. */
  #taking: Promise<void> = Promise.resolve();
  #query: ClaudeQuery | undefined;
  #closed = false;
  /** What the agent was asked to end for. */
  #limit: unknown;
  #result: ClaudeMessage | undefined;

  constructor(run: Run, given: ClaudeRunOptions) {
    this.#run = run;
    this.#given = given;
    this.#conversations = new ClaudeConversations(run);
    this.#steers = new ClaudeSteers(run);
    this.#captures = given.captures(() => this.#progress());
    this.#tools = new ToolRunner(run, {
      used: () => this.#captures.toolUsed(),
      conversations: () => this.#conversations.recorders,
      isSubagentCall,
    });
    this.#registered.promise.catch(() => {}); // those who await it get the error
  }

  async toEnd(): Promise<void> {
    this.#run.aborter.check();
    const consuming = this.#consume().catch((error: unknown) => Promise.reject(this.#failure(error)));
    this.#consumed = consuming.catch(() => {}); // `toEnd` throws the error; `#streamEnded` only awaits the end
    let hasEnded: boolean;
    try {
      hasEnded = await this.#tools.untilStopped(consuming);
    } finally {
      await this.#close();
    }
    if (hasEnded) this.#judge();
  }

  async #consume(): Promise<void> {
    const { sdk, onMessage } = this.#given;
    const query = sdk.query({ prompt: this.#prompt(), options: this.#options() });
    this.#query = query;
    for await (const message of query) {
      if (this.#closed) return;
      onMessage?.(message);
      this.#taking = this.#take(message);
      await this.#taking;
    }
  }

  async #take(message: ClaudeMessage): Promise<void> {
    this.#steers.take(message);
    const toolUsed = await this.#conversations.take(message);
    if (toolUsed) await this.#captures.toolUsed();
    if (message.type === 'system' && message.subtype === 'init') await this.#captures.begun();
    if (message.type === 'result') this.#result = message;
  }

  /** A text goes as it is; with images or files it is a message of its own. */
  #prompt(): unknown {
    const { prompt } = this.#given;
    const [only] = prompt;
    if (prompt.length === 1 && only?.type === 'text') return only.text;
    const message = {
      type: 'user',
      message: { role: 'user', content: writeContent(prompt) },
      parent_tool_use_id: null,
    };
    return (async function* () {
      yield message;
    })();
  }

  #options(): Record<string, unknown> {
    const { prompt, options: evaluate } = this.#run;
    const given = this.#given.options;
    const hooks = given.hooks as Readonly<Record<string, readonly unknown[]>> | undefined;
    const hook = (react: (input: ClaudeHookInput) => Promise<Record<string, unknown>>): unknown => ({
      // What cannot be recorded must not be done: it stops the run, and is none of the model's business.
      hooks: [(input: ClaudeHookInput) => react(input).catch((error: unknown) => this.#tools.stop({ error }))],
      timeout: HOOK_TIMEOUT_S,
      onFailure: 'block',
    });
    const turns = currentEvaluation(this.#run).turn;
    return {
      ...given,
      includePartialMessages: true,
      forwardSubagentText: true,
      sessionStoreFlush: 'eager',
      spawnClaudeCodeProcess: (options: ClaudeSpawnOptions) => this.#spawn(options),
      mcpServers: {
        ...(given.mcpServers as object | undefined),
        ...(prompt.tools.length > 0 && {
          [TOOL_SERVER]: toolServer(prompt.tools, (id) => this.#tools.call(this.#conversations.conversationOf(id), id)),
        }),
      },
      hooks: {
        ...hooks,
        PreToolUse: [hook((input) => this.#beforeTool(input)), ...(hooks?.PreToolUse ?? [])],
        PostToolBatch: [hook((input) => this.#afterTools(input)), ...(hooks?.PostToolBatch ?? [])],
      },
      ...(prompt.output && { outputFormat: { type: 'json_schema', schema: prompt.output.jsonSchema } }),
      ...(evaluate.maxTurns !== undefined && { maxTurns: Math.max(1, evaluate.maxTurns - turns) }),
    };
  }

  #spawn(options: ClaudeSpawnOptions): OwnedProcess['child'] {
    const { command, args, cwd, env } = options;
    // The SDK reads the session from the store first: meanwhile the run may have been stopped.
    if (this.#closed) throw new Error('the run has ended');
    const process = startAgentProcess({
      command,
      args,
      cwd,
      // Work that outlives its response could neither be recorded in its place nor resumed.
      env: { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1', ...env },
      // The SDK's copy of a session that is resumed; otherwise the directory is the user's own.
      scratch: this.#given.options.resume === undefined ? undefined : env.CLAUDE_CONFIG_DIR,
    });
    this.#process = process;
    const registered = Promise.all([
      recordState(this.#run, agentProcessState, { ...process.state, sessionId: this.#run.session.id }),
      this.#captures.begun(),
    ]);
    registered.then(() => this.#registered.resolve(), this.#registered.reject);
    process.exited.then((error) => {
      if (error instanceof HoldfastError) this.#tools.stop({ error }); // it could not be started
    });
    return process.child;
  }

  /** Before a tool runs: its call is in the log, and that it starts (D57). */
  async #beforeTool(input: ClaudeHookInput): Promise<Record<string, unknown>> {
    const { tool_use_id: callId = '', tool_name: name = '' } = input;
    await this.#registered.promise;
    await this.#conversations.recorded(callId);
    const conversation = this.#conversations.conversationOf(callId);
    if (name === OUTPUT_TOOL || !conversation) return {};
    if (recordedName(name) === name) {
      await this.#tools.beforeBuiltIn(conversation, callId, builtInEffect(name));
      return {};
    }
    await this.#tools.before(conversation, callId);
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } };
  }

  /** Between two requests to the model: whether another one may be made (D23), and what the user has sent meanwhile (D61). */
  async #afterTools(input: ClaudeHookInput): Promise<Record<string, unknown>> {
    const { turn } = currentEvaluation(this.#run);
    if (input.agent_id !== undefined) {
      // A subagent's turns are its own; what it costs is everyone's (D52).
      checkBudget(this.#run, 0);
      return {};
    }
    try {
      checkBudget(this.#run, turn + 1);
    } catch (error) {
      this.#limit = error;
      return { continue: false, stopReason: messageOf(error) }; // it ends by itself, and mirrors what it has to the store
    }
    const calls = input.tool_calls ?? [];
    if (calls.some(({ tool_name: name }) => name === OUTPUT_TOOL)) return {}; // the final response: too late for a steer
    const ids = calls.map(({ tool_use_id: id }) => id);
    await this.#steers.place(this.#query, this.#conversations, ids);
    return {};
  }

  /** Ends the process and everything of it. Running calls of ours may finish: their results are recorded. */
  async #close(): Promise<void> {
    this.#closed = true;
    this.#captures.stop();
    await this.#tools.idle();
    if (this.#process) await endOwnProcess(this.#process);
    await this.#streamEnded();
    const { aborted, reason } = this.#run.aborter.signal;
    await this.#conversations.interrupt(aborted ? reason : undefined);
    await this.#captures.ended();
  }

  /**
   * The SDK's stream ends soon after the process, when the SDK has written the transcript to the store. One that does not end
   * is left behind: nothing of it is recorded any more, and the deadline holds whatever the SDK does.
   */
  async #streamEnded(): Promise<void> {
    const given = new AbortController();
    const late = pause(this.#run.session.clock, STREAM_END_MS, given.signal).then(
      () => this.#query?.close?.(),
      () => {}, // it has ended in time
    );
    await Promise.race([this.#consumed, late]);
    given.abort();
    await this.#taking.catch(() => {}); // the failed append has stopped the run with its error
  }

  #progress(): { readonly complete: boolean; readonly costUsd?: number } {
    const result = this.#result;
    const complete = result?.subtype === 'success' && result.is_error !== true && !this.#limit;
    return { complete, ...(typeof result?.total_cost_usd === 'number' && { costUsd: result.total_cost_usd }) };
  }

  /** Checks how a run that ended by itself ended. Throws unless the agent has responded. */
  #judge(): void {
    if (this.#limit) throw this.#limit;
    const result = this.#result;
    const text = typeof result?.result === 'string' ? result.result : '';
    const why =
      text || (Array.isArray(result?.errors) ? result.errors.join('; ') : '') || String(result?.subtype ?? 'no result');
    switch (result?.subtype) {
      case 'success':
        if (result.is_error === true) throw providerFailed(why);
        if (currentEvaluation(this.#run).messages.at(-1)?.role !== 'assistant')
          throw providerFailed('there is no response');
        return;
      case 'error_max_turns':
        throw new Suspension('TURN_LIMIT', 'the turns were not enough; resume with a higher maxTurns to continue', {
          limit: reached('maxTurns', this.#run.options.maxTurns),
        });
      case 'error_max_budget_usd':
        throw new Suspension('BUDGET_EXCEEDED', 'the budget is used up; resume with a larger one to continue', {
          limit: reached('maxCostUsd', this.#run.options.budget?.maxCostUsd),
        });
      default:
        throw providerFailed(why);
    }
  }

  #failure(error: unknown): unknown {
    const text = messageOf(error);
    if (error instanceof Suspension || error instanceof HoldfastError) return error;
    if (this.#result || this.#limit) {
      try {
        this.#judge();
      } catch (judged) {
        return judged;
      }
    }
    const errors = this.#process?.errors();
    return providerFailed(errors ? `${text} (${errors})` : text, error);
  }
}

/** A limit that the agent holds itself: it reports that it is used up, and not by how much. */
function reached(name: ReachedLimit['name'], max: number | undefined): ReachedLimit {
  return { name, ...(max !== undefined && { max, used: max }) };
}

function providerFailed(why: string, cause?: unknown): Suspension {
  return new Suspension('PROVIDER_FAILED', `Claude Code did not respond: ${why}; resume to continue`, {
    cause: cause instanceof Error ? cause : undefined,
  });
}

interface Transport {
  onmessage?: (message: McpMessage) => void;
  start?(): Promise<void>;
  send(message: unknown): Promise<void>;
}

/** The field in which the SDK names the tool use of a call. */
const TOOL_USE_ID = 'claudecode/toolUseId';

/** What the SDK's `mcpServers` option takes. */
interface ToolServer {
  readonly type: 'sdk';
  readonly name: string;
  readonly alwaysLoad: true;
  readonly instance: { connect(transport: Transport): Promise<void>; close(): Promise<void> };
}

/** Our tools as an MCP server in this process. `call` runs a tool; it receives the id of the tool use, which the SDK gives as metadata. */
function toolServer(tools: readonly AnyTool[], call: (callId: string) => Promise<ToolOutcome>): ToolServer {
  return {
    type: 'sdk',
    name: TOOL_SERVER,
    alwaysLoad: true,
    instance: {
      async connect(transport) {
        transport.onmessage = (message) => {
          if (message.id === undefined) return;
          serveMcpRequest(message, tools, ({ _meta }) => call(String(_meta?.[TOOL_USE_ID] ?? randomUUID())))
            .then((reply) => transport.send(reply))
            .catch(() => {}); // the agent has ended; its run reports why
        };
        await transport.start?.();
      },
      close: async () => {},
    },
  };
}
