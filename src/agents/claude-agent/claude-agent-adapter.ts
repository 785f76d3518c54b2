import { randomUUID } from 'node:crypto';
import { continuedEvaluations } from '../../core/fold/evaluation-messages.ts';
import { type Evaluation, isOpen } from '../../core/fold/evaluations.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { AdapterStateType } from '../../core/log/adapter-state.ts';
import { type ConversationMessage, textOf } from '../../core/log/messages.ts';
import type { SessionView } from '../../core/views/session-view.ts';
import { currentEvaluation, type Run } from '../../loop/evaluate/run.ts';
import { Suspension } from '../../loop/evaluate/suspension.ts';
import { checkBudget, costLimitOf } from '../../loop/request/spending.ts';
import { createAgentAdapter } from '../agent-adapter.ts';
import { type AgentState, defineAgentState } from '../agent-state.ts';
import { asContent, ConversationRecorder } from '../conversation-recorder.ts';
import { STATEFUL_OPTIONS, type StatefulAdapter, type StatefulOptions } from '../stateful-adapter.ts';
import { builtInEffect, isBuiltIn, isSubagentCall } from './built-in-tools.ts';
import { runClaudeQuery } from './claude-query.ts';
import { claudeSessionStore } from './claude-session-store.ts';
import { importTranscript, linesSince, prepareTranscript } from './claude-transcript.ts';
import { loadClaudeSdk } from './load-sdk.ts';
import { announceCopy, removeLeftCopies } from './resume-copy.ts';
import type {
  ClaudeAgentSdk,
  ClaudeMessage,
  ClaudeQueryOptions,
  ClaudeSessionStore,
  ClaudeTranscriptEntry,
} from './sdk-types.ts';

/** What the Claude Agent SDK needs to continue: the id of its session, and the fields that validation checks. */
export interface ClaudeAgentState extends AgentState {
  readonly adapterType: 'claude-agent-sdk';
  /** What its session had cost when this evaluation began. */
  readonly startCostUsd?: number;
}

/** The adapter type of the Claude Agent SDK. */
export const CLAUDE_AGENT: ClaudeAgentState['adapterType'] = 'claude-agent-sdk';

/** The kind of adapter state that the Claude Agent SDK has. */
export const claudeAgentState: AdapterStateType<ClaudeAgentState> = defineAgentState<ClaudeAgentState>(CLAUDE_AGENT);

/** Options of `claudeAgentAdapter`. */
export interface ClaudeAgentOptions extends StatefulOptions {
  /** Where the agent works. A stable directory, so that a resume finds the same files. */
  readonly cwd?: string;
  readonly model?: string;
  /** The agent's whole environment; by default this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the prompt's instructions follow Claude Code's own (the default) or take their place. */
  readonly systemPrompt?: 'append' | 'replace';
  /** Further options for the SDK's `query`: permissions, tools, settings, MCP servers, hooks, subagents. */
  readonly query?: ClaudeQueryOptions;
  /** The SDK's module, to bring a version of your own; by default the installed package. */
  readonly sdk?: ClaudeAgentSdk;
  /** Called with every message of the SDK's stream, before it is recorded. */
  readonly onMessage?: (message: ClaudeMessage) => void;
}

const KNOWN: KnownOptions<ClaudeAgentOptions> = {
  ...STATEFUL_OPTIONS,
  cwd: true,
  model: true,
  env: true,
  systemPrompt: true,
  query: true,
  sdk: true,
  onMessage: true,
};

/** Runs prompts with the Claude Agent SDK: its loop, our log. A process that dies anywhere is continued with `resume`. */
export function claudeAgentAdapter(options: ClaudeAgentOptions = {}): StatefulAdapter {
  refuseUnknownOptions('claudeAgentAdapter', options, KNOWN);
  const { cwd = process.cwd() } = options;
  return createAgentAdapter<ClaudeAgentState>({
    name: 'Claude Code',
    stateType: claudeAgentState,
    options,
    workspacePath: cwd,
    exists: async (session, state) => (await transcript(claudeSessionStore(session.store), state)).length > 0,
    cleanUp: removeLeftCopies,
    catchUp,
    builtIn: { has: isBuiltIn, effect: builtInEffect, isSubagentCall },
    async ask(run, { turn, from, isOwn, fork, continuation, captures }) {
      checkBudget(run, turn);
      const sdk = await loadClaudeSdk(options.sdk);
      const { session } = run;
      const sessions = claudeSessionStore(session.store, {
        clock: session.clock,
        ...(sdk.foldSessionSummary && { foldSessionSummary: sdk.foldSessionSummary }),
      });
      const start = await prepareSession(run, sessions, { from, cwd, fork });
      if (!start.prompt) await new ConversationRecorder(run).recordUser(asContent(continuation));
      const cost = costsOf(start.costUsd, from, isOwn);
      const left = leftOf(run, cost);
      const removeCopy = start.resumes ? await announceCopy(run, start.sessionId) : () => {};
      const work = runClaudeQuery(run, {
        sdk,
        onMessage: options.onMessage,
        prompt: start.prompt ?? asContent(continuation),
        options: {
          ...options.query,
          cwd,
          ...(options.model !== undefined && { model: options.model }),
          ...(options.env && { env: options.env }),
          ...systemPrompt(currentEvaluation(run), options.systemPrompt ?? 'append'),
          ...(start.resumes ? { resume: start.sessionId } : { sessionId: start.sessionId }),
          ...(left !== undefined && { maxBudgetUsd: left }),
          sessionStore: sessions,
        },
        captures: (progress) =>
          captures(() => {
            const { complete, costUsd } = progress();
            return {
              sessionId: start.sessionId,
              complete,
              ...(costUsd !== undefined || cost.before > 0 ? { costUsd: Math.max(costUsd ?? 0, cost.before) } : {}),
              ...(cost.atStart > 0 && { startCostUsd: cost.atStart }),
            };
          }),
      });
      await work.finally(removeCopy);
    },
  });
}

async function transcript(
  sessions: ClaudeSessionStore,
  state: ClaudeAgentState,
): Promise<readonly ClaudeTranscriptEntry[]> {
  return (await sessions.load({ projectKey: '', sessionId: state.sessionId })) ?? [];
}

interface Costs {
  /** What the agent's session had cost when the evaluation began, and when this run of it begins. */
  readonly atStart: number;
  readonly before: number;
}

/** The agent counts what its whole session has cost, also in evaluations before this one; a budget is one evaluation's (D23). */
function costsOf(inTranscript: number, from: ClaudeAgentState | undefined, isOwn: boolean): Costs {
  const before = Math.max(inTranscript, from?.costUsd ?? 0);
  return { before, atStart: isOwn ? (from?.startCostUsd ?? 0) : before };
}

/** What is left of a budget. The agent does not take one that is used up. */
function leftOf(run: Run, { atStart, before }: Costs): number | undefined {
  const budget = costLimitOf(run);
  if (budget === undefined) return undefined;
  const spent = before - atStart;
  if (spent < budget) return budget - spent;
  // Of a budget over the session, other evaluations have used a part.
  const { maxCostUsd: max = budget } = run.options.budget ?? {};
  throw new Suspension(
    'BUDGET_EXCEEDED',
    `${spent} of ${budget} dollars are used up; resume with a larger budget to continue`,
    { limit: { name: 'maxCostUsd', max, used: Number((max - budget + spent).toFixed(6)) } },
  );
}

/** The cost of its session that a transcript records. */
function costIn(entries: readonly ClaudeTranscriptEntry[]): number {
  const cost = entries.findLast(({ type }) => type === 'cost-state')?.totalCostUSD;
  return typeof cost === 'number' ? cost : 0;
}

function systemPrompt(evaluation: Evaluation, mode: 'append' | 'replace'): Record<string, unknown> {
  const system = evaluation.messages.at(0);
  const text = system?.role === 'system' ? textOf(system) : '';
  if (mode === 'replace') return { systemPrompt: text };
  return { systemPrompt: { type: 'preset', preset: 'claude_code', ...(text !== '' && { append: text }) } };
}

/**
 * Makes the session that Claude Code continues in. A copy by default (D28), so that the original stays as it was; either
 * way it holds what our log has and the transcript lacked, durably, before the agent starts (D57).
 */
async function prepareSession(
  run: Run,
  sessions: ClaudeSessionStore,
  how: { readonly from: ClaudeAgentState | undefined; readonly cwd: string; readonly fork: boolean },
): Promise<{
  readonly sessionId: string;
  readonly resumes: boolean;
  readonly prompt: ReturnType<typeof prepareTranscript>['prompt'];
  readonly costUsd: number;
}> {
  const { from, cwd } = how;
  const { session } = run;
  const entries = from ? await transcript(sessions, from) : [];
  const messages = await session.resolve(conversationOf(session, currentEvaluation(run)));
  const ours = new Set(run.prompt.tools.map((tool) => tool.name));
  const copyId = randomUUID();
  const costUsd = costIn(entries);
  const context = { cwd, ours };
  const first = prepareTranscript(entries, messages, { ...context, sessionId: from?.sessionId ?? copyId });
  if (first.entries.length + first.missing.length === 0)
    return { sessionId: copyId, resumes: false, prompt: first.prompt, costUsd };
  const projectKey = cwd.replace(/[^a-zA-Z0-9]/g, '-');
  if (from && !how.fork && first.entries.length === entries.length) {
    await sessions.append({ projectKey, sessionId: from.sessionId }, first.missing);
    return { sessionId: from.sessionId, resumes: true, prompt: first.prompt, costUsd };
  }
  const renamed = (lines: readonly ClaudeTranscriptEntry[]): ClaudeTranscriptEntry[] =>
    lines.map((line) => ('sessionId' in line ? { ...line, sessionId: copyId } : line));
  if (from) {
    for (const subpath of await sessions.listSubkeys({ projectKey, sessionId: from.sessionId })) {
      const lines = await sessions.load({ projectKey, sessionId: from.sessionId, subpath });
      await sessions.append({ projectKey, sessionId: copyId, subpath }, renamed(lines ?? []));
    }
  }
  await sessions.append({ projectKey, sessionId: copyId }, renamed([...first.entries, ...first.missing]));
  return { sessionId: copyId, resumes: true, prompt: first.prompt, costUsd };
}

/** The messages of an evaluation and of those that it continues (D50), without their instructions. */
function conversationOf(session: SessionView, evaluation: Evaluation): readonly ConversationMessage[] {
  return continuedEvaluations(session.state.record.evaluations, evaluation)
    .toReversed()
    .flatMap((one) => one.messages.filter((message) => message.role !== 'system'));
}

/** Brings our log up to what the SDK had mirrored before the crash: its own conversation, and its subagents'. */
async function catchUp(run: Run, state: ClaudeAgentState | undefined): Promise<void> {
  if (!state) return;
  const sessions = claudeSessionStore(run.session.store);
  await importTranscript(run, linesSince(await transcript(sessions, state), currentEvaluation(run)));
  const key = { projectKey: '', sessionId: state.sessionId };
  for (const subpath of await sessions.listSubkeys(key)) {
    const entries = (await sessions.load({ ...key, subpath })) ?? [];
    const toolUseId = entries.findLast(({ toolUseId: id }) => id !== undefined)?.toolUseId;
    const evaluation = run.session.state.record.evaluations.items
      .toArray()
      .findLast((one) => one.parent !== undefined && one.parent.callId === toolUseId && isOpen(one));
    if (evaluation) await importTranscript({ ...run, evaluationId: evaluation.id }, entries);
  }
}
