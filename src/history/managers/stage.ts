import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import { MessageIndex } from '../coherence/message-index.ts';
import type {
  BuiltInManager,
  Curation,
  CurationContext,
  HistoryManager,
  Preserve,
  SummaryRequest,
} from '../history-manager.ts';
import { type View, wholeView } from './view.ts';
import { emit, type Repair } from './view-messages.ts';

/**
 * How built-in managers work inside: each is a stage that turns a view into a smaller or shorter one. A composition passes one
 * view through all its stages and copies messages once, at the end.
 *
 * Contract: `apply` is a function of the view, the context and nothing else; `state` only saves work. What it keeps, it keeps
 * in whole groups, among them every group that `index.fixedGroups` names.
 */
export interface Stage {
  readonly name: string;
  /** It shows the whole conversation to foreign code: nothing of it may be out of date. */
  readonly readsAll?: boolean;
  /** The stages of a composition, in order. */
  readonly parts?: readonly Stage[];
  apply(view: View, input: StageInput): StageOutput;
}

/** What a stage is given beside the view. */
interface StageInput {
  readonly context: CurationContext;
  /** What this stage returned the last time, for the same conversation. */
  readonly state: unknown;
  /** Set when the output is sent: the stage repairs what it must, and adds each repair here. */
  readonly repairs: Repair[] | undefined;
}

/** What a stage leaves. */
export interface StageOutput {
  readonly view: View;
  readonly state?: unknown;
  readonly needs?: readonly SummaryRequest[];
  readonly notes?: readonly string[];
  /** What the stages after this one must keep. */
  readonly preserve?: Preserve;
}

/** What a run leaves for the next: only time is lost with it. */
class Memo {
  readonly stage: Stage;
  readonly index: MessageIndex;
  readonly state: unknown;

  constructor(stage: Stage, index: MessageIndex, state: unknown) {
    this.stage = stage;
    this.index = index;
    this.state = state;
  }
}

const stages = new WeakMap<HistoryManager, Stage>();

/** A manager that is a stage. */
export function managerOf(stage: Stage): BuiltInManager {
  const manager: BuiltInManager = {
    name: stage.name,
    curate(messages, context) {
      const { output, result, memo } = run(stage, messages, context, context.previous?.memo, undefined);
      const { view, needs, notes } = output;
      const unchanged = view.index === memo.index && view.whole && !view.shape;
      return {
        messages: unchanged ? messages : result,
        memo,
        ...(needs && { needs }),
        ...(notes && { notes }),
      } satisfies Curation;
    },
  };
  stages.set(manager, stage);
  return manager;
}

/** The stage that a built-in manager is; undefined for any other manager. */
export function stageOf(manager: HistoryManager): Stage | undefined {
  return stages.get(manager);
}

/** Runs a stage over a conversation, continuing from `memo` when it is of this stage and conversation. */
export function run(
  stage: Stage,
  messages: readonly ConversationMessage[],
  context: CurationContext,
  memo: unknown,
  repairs: Repair[] | undefined,
): { readonly output: StageOutput; readonly result: ConversationMessage[]; readonly memo: Memo } {
  const known = memo instanceof Memo && memo.stage === stage && isCurrent(memo, messages) ? memo : undefined;
  const index = known?.index ?? new MessageIndex();
  if (!known) index.grow(messages);
  const output = applyStage(stage, wholeView(index), { context, state: known?.state, repairs });
  const current = output.view.index === index ? messages : output.view.index.messages;
  const result = emit(output.view, current, repairs !== undefined);
  if (!result) {
    // A message that was replaced since, as by an erasure, makes the index wrong: everything is read again.
    if (repairs) repairs.length = 0;
    return run(stage, messages, context, undefined, repairs);
  }
  return { output, result, memo: new Memo(stage, index, output.state) };
}

/** Whether what is remembered is of this conversation; then it has been brought up to date. */
function isCurrent({ stage, index }: Memo, messages: readonly ConversationMessage[]): boolean {
  return index.grow(messages) && !(stage.readsAll && messages.some((message, i) => message !== index.messages[i]));
}

/** Applies a stage. When the output is to be sent, a stage that throws is skipped, and the request is sent without it. */
export function applyStage(stage: Stage, view: View, input: StageInput): StageOutput {
  if (!input.repairs) return stage.apply(view, input);
  try {
    return stage.apply(view, input);
  } catch (error) {
    const repair = `${stage.name} failed (${messageOf(error)}); the request was made without it`;
    input.repairs.push({ code: 'manager-failed', repair });
    return { view };
  }
}

/** Several stages, one after the other. */
export function sequence(name: string, parts: readonly Stage[]): Stage {
  return {
    name,
    parts,
    readsAll: parts.some(({ readsAll }) => readsAll),
    apply(view, input) {
      const before = Array.isArray(input.state) ? (input.state as readonly unknown[]) : [];
      const state: unknown[] = [];
      const needs: SummaryRequest[] = [];
      const notes: string[] = [];
      let { context } = input;
      let preserve: Preserve | undefined;
      let current = view;
      parts.forEach((part, i) => {
        const output = applyStage(part, current, { context, state: before[i], repairs: input.repairs });
        current = output.view;
        state.push(output.state);
        if (output.needs) needs.push(...output.needs);
        if (output.notes) notes.push(...output.notes);
        if (output.preserve) {
          preserve = mergePreserve(preserve, output.preserve);
          context = { ...context, preserve: mergePreserve(context.preserve, output.preserve) };
        }
      });
      return {
        view: current,
        state,
        ...(needs.length > 0 && { needs }),
        ...(notes.length > 0 && { notes }),
        ...(preserve && { preserve }),
      };
    },
  };
}

/** What both ask to be kept. */
function mergePreserve(a: Preserve | undefined, b: Preserve): Preserve {
  if (!a) return b;
  const messages = [...(a.messages ?? []), ...(b.messages ?? [])];
  const tools = [...(a.tools ?? []), ...(b.tools ?? [])];
  const last = Math.max(a.last ?? 0, b.last ?? 0);
  return { ...(messages.length > 0 && { messages }), ...(tools.length > 0 && { tools }), ...(last > 0 && { last }) };
}

/** A whole number of at least `least`, or a typed error that names the option. */
export function wholeNumber(option: string, value: number, least = 0): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new HoldfastError('INVALID_ARGUMENT', `${option} is ${value}; give a whole number of at least ${least}`);
}

/**
 * How many of `count` groups are dropped when, past `size`, the oldest are dropped at once until `low` are left. A function of
 * the count alone: every process that sees the same conversation folds it at the same place.
 */
export function foldedGroups(count: number, size: number, low: number): number {
  if (count <= size) return 0;
  const step = size + 1 - low;
  return Math.ceil((count - size) / step) * step;
}
