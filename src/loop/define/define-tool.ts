import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import type { AnySlice } from '../../core/fold/slices.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ToolEffect } from '../../core/log/events.ts';
import type { ProgressReport } from '../../core/log/progress.ts';
import type { StagedSession } from '../../session/append/staged-session.ts';
import type { Budget, ChildOptions, EvaluationResponse, NeededParams } from '../evaluate/provider-adapter.ts';
import type { AnyParams, Prompt } from './define-prompt.ts';
import { type JsonSchema, toJsonSchema } from './json-schema.ts';
import type { SuspendedCall } from './suspend-until.ts';

/** What a tool's handler is given besides its input. `Slices` are those that the tool declares. */
export interface ToolContext<Slices extends readonly AnySlice[] = readonly AnySlice[]> {
  readonly callId: string;
  readonly turn: number;
  readonly evaluationId: string;
  readonly conversationId: string;
  readonly sessionId: string;
  /** True only for a call that an earlier process had started. */
  readonly isResume: boolean;
  /** 1 for the first run of this call. */
  readonly attempt: number;
  /** The same for every run of this call and for no other call, also across forks of the session. */
  readonly idempotencyKey: string;
  /** When the evaluation stops; a child conversation has its parent's. Absent without a deadline. */
  readonly deadline?: Date;
  /** What is left of the evaluation's budget and of those above it, when it is read: a limit that is not set is absent. */
  readonly budget: Omit<Budget, 'over'>;
  /** Aborts on timeout, deadline, cancellation, and when the session was taken over. */
  readonly signal: AbortSignal;
  /** The session: what is dispatched here is committed together with the result, or marked discarded with a failure. */
  readonly session: StagedSession<Slices>;
  /**
   * Reports how far the call is, to listeners (`tool/progress`) and to readers of the session, until its result is
   * recorded; never to the provider. Text is appended; `percent` and `data` replace the last ones. Of the text the newest 64 kB
   * are kept. Never throws: an invalid report is a process warning, one after the call has ended is ignored.
   */
  progress(report: string | ProgressReport): void;
  /**
   * Runs a child conversation in the same log. When the handler runs again, a recorded child is matched by its `key`, or
   * without one by prompt, input and params. Throws in a tool that declares no effect: declare `idempotent`, or `read` if the
   * children only read. In a `once` tool it works, but after a crash the handler, and so its children, wait for a decision.
   */
  evaluate<Output, Params extends AnyParams = AnyParams>(
    prompt: Prompt<Output, Params>,
    options?: ChildOptions & NeededParams<Params>,
  ): Promise<EvaluationResponse<Output>>;
}

/** Whether a call needs a person's approval. One that is not approved within `expiresAfterMs` is denied. */
export type ApprovalNeed = boolean | { readonly expiresAfterMs?: number };

/** What `reconcile` found out about a call that was started by a process that died. */
export type Reconciliation<Output> =
  | { readonly happened: true; readonly result: Output }
  | { readonly happened: false }
  | { readonly happened: 'unknown' };

/**
 * A tool that a model may call.
 *
 * Contract: `execute` may run again for the same call when `effect` is `read` or `idempotent`; for a call of a `once` tool it runs at most
 * once, unless `reconcile` or a person decides that it did not happen. Another evaluation may make another call with the same
 * arguments: it has its own `idempotencyKey`, and runs. A throw is a failed result that the model sees.
 */
export interface Tool<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: StandardSchemaV1<unknown, Input>;
  /** The slices that the tool dispatches to: an evaluation needs a session that was opened with them. */
  readonly slices?: readonly AnySlice[];
  readonly jsonSchema: JsonSchema;
  readonly effect: ToolEffect;
  /** The definition named no effect, so it is `once`, and `ctx.evaluate` throws in it. */
  readonly effectUndeclared?: true;
  /** May return `suspendUntil` instead of a result. */
  execute(input: Input, context: ToolContext): Promise<Output | SuspendedCall> | Output | SuspendedCall;
  /** Did it happen? Asked instead of running a `once` tool again. */
  readonly reconcile?: (input: Input, context: ToolContext) => Promise<Reconciliation<Output>> | Reconciliation<Output>;
  /**
   * Undoes a partial effect before the handler runs again: for an `idempotent` call that a crash cut off, and for a `once` call that
   * `reconcile` or a person allows to run again. When it throws, the call has failed with that error, and the handler does not run.
   */
  readonly compensate?: (input: Input, context: ToolContext) => Promise<void> | void;
  /** Whether a person must approve the call first, and for how long it waits. */
  readonly needsApproval?: ApprovalNeed | ((input: Input) => ApprovalNeed | Promise<ApprovalNeed>);
  /** How long the handler, `reconcile` and `compensate` may take, each. A `once` handler that takes longer may have happened. */
  readonly timeoutMs?: number;
  /** How often a `read` or `idempotent` tool that threw is tried again before its error is the result. */
  readonly retries: number;
  /** A tool that the provider runs itself: sent to the model, never run here. */
  readonly provider?: { readonly id: string; readonly args: Readonly<Record<string, unknown>> };
}

/** Any tool, whatever it takes. */
// biome-ignore lint/suspicious/noExplicitAny: a tool is contravariant in its input; lists of tools need the top type
export type AnyTool = Tool<any, any>;

/** What `defineTool` takes. */
export interface ToolDefinition<
  Schema extends StandardSchemaV1,
  Output,
  Slices extends readonly AnySlice[] = readonly AnySlice[],
> {
  readonly name: string;
  readonly description: string;
  /** Any Standard Schema. */
  readonly input: Schema;
  /** The slices that `ctx.session` dispatches to: their events are checked as those of a session with these slices. */
  readonly slices?: Slices;
  /** For schema libraries that do not convert themselves. */
  readonly jsonSchema?: JsonSchema;
  /** `once` unless given. A handler that runs child conversations with `ctx.evaluate` declares `idempotent`. */
  readonly effect?: ToolEffect;
  readonly execute: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ToolContext<Slices>,
  ) => Promise<Output | SuspendedCall> | Output | SuspendedCall;
  readonly reconcile?: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ToolContext<Slices>,
  ) => Promise<Reconciliation<NoInfer<Output>>> | Reconciliation<NoInfer<Output>>;
  readonly compensate?: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ToolContext<Slices>,
  ) => Promise<void> | void;
  readonly needsApproval?:
    | ApprovalNeed
    | ((input: StandardSchemaV1.InferOutput<Schema>) => ApprovalNeed | Promise<ApprovalNeed>);
  readonly timeoutMs?: number;
  readonly retries?: number;
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

const KNOWN: KnownOptions<ToolDefinition<StandardSchemaV1, unknown>> = {
  name: true,
  description: true,
  input: true,
  slices: true,
  jsonSchema: true,
  effect: true,
  execute: true,
  reconcile: true,
  compensate: true,
  needsApproval: true,
  timeoutMs: true,
  retries: true,
};

/** Defines a tool. Its handler's input has the type of the schema. */
export function defineTool<
  Schema extends StandardSchemaV1,
  Output,
  const Slices extends readonly AnySlice[] = readonly AnySlice[],
>(definition: ToolDefinition<Schema, Output, Slices>): Tool<StandardSchemaV1.InferOutput<Schema>, Output> {
  refuseUnknownOptions('defineTool', definition, KNOWN);
  const { name, effect, input, execute, retries = 0, jsonSchema, ...rest } = definition;
  checkToolName(name);
  if (effect !== undefined && !['read', 'idempotent', 'once'].includes(effect)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `tool "${name}": effect is 'read', 'idempotent' or 'once', not "${effect}"`,
    );
  }
  checkCount(name, 'retries', retries);
  if (rest.timeoutMs !== undefined) checkCount(name, 'timeoutMs', rest.timeoutMs);
  if (typeof rest.needsApproval === 'object') {
    checkCount(name, 'needsApproval.expiresAfterMs', rest.needsApproval.expiresAfterMs ?? 0);
  }
  if (typeof execute !== 'function') throw new HoldfastError('INVALID_ARGUMENT', `tool "${name}": execute is missing`);
  return {
    ...rest,
    name,
    input: input as StandardSchemaV1<unknown, StandardSchemaV1.InferOutput<Schema>>,
    execute,
    jsonSchema: toJsonSchema(input, jsonSchema, `tool "${name}"`),
    effect: effect ?? 'once', // never guessed: a wrong guess runs a purchase twice (D60)
    ...(effect === undefined && { effectUndeclared: true as const }),
    retries,
  };
}

function checkCount(tool: string, what: string, value: number): void {
  if (value >= 0) return;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `tool "${tool}": ${what} is ${value}; give a number that is not negative`,
  );
}

/** Refuses a name that a provider would refuse. */
export function checkToolName(name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `"${name}" cannot name a tool; providers take up to 64 letters, digits, _ and -`,
  );
}
