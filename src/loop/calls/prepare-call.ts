import { messageOf } from '../../core/errors.ts';
import { hasArgumentsOutside } from '../../core/fold/call-arguments.ts';
import type { CallState } from '../../core/fold/evaluations.ts';
import type { ToolCall } from '../../core/log/messages.ts';
import { argumentsOf, MISSING } from '../../session/people/call-arguments.ts';
import type { Prompt } from '../define/define-prompt.ts';
import type { AnyTool, ApprovalNeed } from '../define/define-tool.ts';
import { type Validated, validate } from '../define/json-schema.ts';
import type { Run } from '../evaluate/run.ts';

/** A call that may run. */
export interface Prepared {
  readonly ok: true;
  readonly tool: AnyTool;
  readonly input: unknown;
  /** The input read again from the arguments, for another function of the tool, or another try: a function may change what it gets. */
  freshInput(): Promise<unknown>;
  /** Whether a person must approve it, and for how long it waits. A check that throws asks a person. */
  needsApproval(): Promise<Approval | undefined>;
}

/** An approval that a call needs. */
export interface Approval {
  readonly expiresAfterMs?: number;
}

/** A call that may run, or the problem, which the model receives as a failed result (D20). */
export type PreparedCall =
  | Prepared
  | {
      readonly ok: false;
      readonly problem: string;
      /** Its exact arguments are not in this store and cannot be restored (D77). */
      readonly isMissing?: true;
    };

/** Prepares a call of the log: with its exact arguments, or those that a person approved, if they were edited (D67, D77). */
export function prepareRecorded(run: Run, call: CallState): PreparedCall | Promise<PreparedCall> {
  if (hasArgumentsOutside(call)) return prepareFromOutside(run, call);
  return prepareCall(run.prompt, { name: call.name, arguments: call.editedArguments ?? call.arguments });
}

async function prepareFromOutside({ prompt, session }: Run, call: CallState): Promise<PreparedCall> {
  const text = await argumentsOf(session, call);
  if (text === undefined) return { ok: false, problem: MISSING, isMissing: true };
  return prepareCall(prompt, { name: call.name, arguments: text }, { quotes: false });
}

/** Finds a call's tool and reads its arguments. With `quotes: false` the problem is recorded without a piece of them. */
export function prepareCall(
  prompt: Prompt<unknown>,
  call: Pick<ToolCall, 'name' | 'arguments'>,
  { quotes = true }: { readonly quotes?: boolean } = {},
): PreparedCall | Promise<PreparedCall> {
  const tool = prompt.tools.find((candidate) => candidate.name === call.name);
  if (!tool) {
    const names = prompt.tools.map((candidate) => candidate.name).join(', ');
    return {
      ok: false,
      problem: `There is no tool "${call.name}". ${names ? `There are: ${names}.` : 'There are none.'}`,
    };
  }
  const text = call.arguments;
  const read = (): Validated<unknown> | Promise<Validated<unknown>> =>
    validate<unknown>(tool.input, JSON.parse(text.trim() === '' ? '{}' : text));
  let checking: ReturnType<typeof read>;
  try {
    checking = read();
  } catch (error) {
    // The parser quotes a few characters of the text: no pattern of `redact` finds a part of a secret.
    const why = quotes ? `: ${messageOf(error)}` : '';
    return { ok: false, problem: `The arguments of "${call.name}" are not JSON${why}` };
  }
  const fitted = (checked: Validated<unknown>): PreparedCall => {
    if (checked.ok) return prepared(tool, checked.value, read);
    // A schema names what it did not expect, in its own words: no pattern of `redact` may know them.
    const why = quotes ? `: ${checked.problem}` : '';
    return { ok: false, problem: `The arguments of "${tool.name}" do not fit its schema${why}` };
  };
  return checking instanceof Promise ? checking.then(fitted) : fitted(checking);
}

function prepared(
  tool: AnyTool,
  input: unknown,
  read: () => Validated<unknown> | Promise<Validated<unknown>>,
): PreparedCall {
  const freshInput = async (): Promise<unknown> => {
    const again = await read();
    return again.ok ? again.value : input;
  };
  return { ok: true, tool, input, freshInput, needsApproval: () => needsApproval(tool, freshInput) };
}

async function needsApproval(tool: AnyTool, input: () => Promise<unknown>): Promise<Approval | undefined> {
  const { needsApproval: needed } = tool;
  try {
    return approvalOf(typeof needed === 'function' ? await needed(await input()) : needed);
  } catch {
    return {};
  }
}

/** A tool's requirement of approval. An invalid time sets no limit: a person still has to approve. */
function approvalOf(needed: ApprovalNeed | undefined): Approval | undefined {
  if (!needed) return undefined;
  const { expiresAfterMs } = typeof needed === 'object' ? needed : {};
  return expiresAfterMs !== undefined && expiresAfterMs >= 0 ? { expiresAfterMs } : {};
}
