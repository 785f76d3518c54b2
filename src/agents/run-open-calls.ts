import { type Evaluation, isOpen } from '../core/fold/evaluations.ts';
import type { ToolEffect } from '../core/log/events.ts';
import { type ConversationMessage, type ToolMessage, textOf } from '../core/log/messages.ts';
import { type PlannedCall, planEvaluation } from '../core/plan/resume-plan.ts';
import { earliestTime } from '../core/summary/approval-deadlines.ts';
import { runCalls } from '../loop/calls/run-calls.ts';
import type { Prompt } from '../loop/define/define-prompt.ts';
import { anything } from '../loop/define/json-schema.ts';
import { toolContent } from '../loop/define/tool-result.ts';
import { type Run, record } from '../loop/evaluate/run.ts';
import { Suspension } from '../loop/evaluate/suspension.ts';
import { subagentEvaluationId } from './subagent-run.ts';

/** What is known of the tools that an agent brings itself. */
export interface BuiltInTools {
  /** Whether the agent has a tool of that name: a tool of the prompt cannot have it. */
  readonly has: (name: string) => boolean;
  /** What may be done again of a call that a crash left open (D18). */
  readonly effect: (name: string) => ToolEffect;
  readonly isSubagentCall: (name: string) => boolean;
}

/**
 * Runs calls that a crash, an approval or a person's decision left open: ours by their policy, in their subagents first; the
 * agent's own by theirs.
 */
export async function runOpenCalls(run: Run, calls: readonly PlannedCall[], tools: BuiltInTools): Promise<void> {
  const { effect, isSubagentCall } = tools;
  const waits: Suspension[] = [];
  const ready: PlannedCall[] = [];
  for (const planned of calls) {
    const child = isSubagentCall(planned.call.name)
      ? run.session.state.record.evaluations.get(subagentEvaluationId(planned.call))
      : undefined;
    const waiting = child && (await endSubagent(run, child, tools));
    if (waiting) waits.push(waiting);
    else ready.push(planned);
  }
  const report = (callId: string): string => {
    const planned = calls.find(({ call }) => call.callId === callId);
    const child = planned && run.session.state.record.evaluations.get(subagentEvaluationId(planned.call));
    return subagentReport(child);
  };
  const names = calls.map(({ call }) => call.name);
  const prompt = withStandIns(run.prompt, names, {
    effect,
    result: ({ name, callId }) => (isSubagentCall(name) ? report(callId) : CALL_AGAIN),
  });
  try {
    await runCalls({ ...run, prompt }, ready);
  } catch (error) {
    if (!(error instanceof Suspension) || !error.pending) throw error;
    waits.unshift(error);
  }
  const [first] = waits;
  if (first)
    throw new Suspension(first.reason, first.message, {
      pending: waits.flatMap(({ pending = [] }) => pending),
      until: earliestTime(waits.flatMap(({ until }) => until ?? [])),
      limit: first.limit,
      unreconciled: waits.flatMap(({ unreconciled }) => unreconciled),
    });
}

/** The result of a call of the agent's own that may be made again. */
const CALL_AGAIN =
  'The session was interrupted and this call did not take effect. Call the tool again if you still need it.';

/**
 * The prompt with a stand-in for each of the agent's own tools that a call was left open for. Only the agent can run the tool, so
 * what may run again is given back to the model to call again; what may have happened waits for a person, like every `once` tool.
 */
function withStandIns(
  prompt: Prompt<unknown>,
  names: Iterable<string>,
  tools: {
    readonly effect: (name: string) => ToolEffect;
    readonly result: (call: { readonly name: string; readonly callId: string }) => string;
  },
): Prompt<unknown> {
  const own = new Set(prompt.tools.map((tool) => tool.name));
  const standIns = [...new Set(names)]
    .filter((name) => !own.has(name))
    .map((name) => ({
      name,
      description: '',
      input: anything,
      jsonSchema: {},
      effect: tools.effect(name),
      retries: 0,
      execute: (_input: unknown, { callId }: { readonly callId: string }) =>
        toolContent([{ type: 'text', text: tools.result({ name, callId }) }], { isError: true }),
    }));
  return { ...prompt, tools: [...prompt.tools, ...standIns] };
}

/** Settles what an interrupted subagent left open. It is not continued: its parent receives a report of its finished calls. */
async function endSubagent(run: Run, child: Evaluation, tools: BuiltInTools): Promise<Suspension | undefined> {
  if (!isOpen(child)) return undefined;
  const plan = planEvaluation(child);
  try {
    if (plan.do === 'run-calls') await runOpenCalls({ ...run, evaluationId: child.id }, plan.calls, tools);
  } catch (error) {
    if (error instanceof Suspension && error.pending) return error;
    throw error;
  }
  await record(run, [{ type: 'evaluation/superseded', evaluationId: child.id }]);
  return undefined;
}

function subagentReport(child: Evaluation | undefined): string {
  const done = endedCalls(child?.messages ?? []).map(({ call, result }) => {
    return `- ${call}: ${result.isError ? 'failed' : 'done'}: ${textOf(result)}`;
  });
  const before = done.length > 0 ? `Before that these of its calls had ended:\n${done.join('\n')}\n` : '';
  return `The session was interrupted and this subagent did not answer. ${before}Start it again if you still need its answer, without repeating what is done.`;
}

/**
 * The results of an agent's conversation, each with its call as text. They pair by id alone: agents' call ids do not repeat, and a response
 * may be recorded in pieces, so that the nearest message need not be the one that made the call.
 */
export function endedCalls(
  messages: Iterable<ConversationMessage>,
): readonly { readonly call: string; readonly result: ToolMessage }[] {
  const calls = new Map<string, string>();
  const ended: { readonly call: string; readonly result: ToolMessage }[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.toolCalls ?? []) calls.set(call.callId, `${call.name} ${call.arguments}`);
    } else if (message.role === 'tool') {
      ended.push({ call: calls.get(message.toolCallId) ?? message.toolName, result: message });
    }
  }
  return ended;
}
