import type { ConversationMessage } from '../../core/log/messages.ts';
import { type CuratedRequest, curateRequest } from '../curate-request.ts';
import type { CurationContext, History, Limits } from '../history-manager.ts';
import { asStage } from '../managers/compose.ts';
import { passthrough } from '../managers/passthrough.ts';
import { type StrategyStep, strategyFromName, strategyManager } from '../managers/strategy.ts';
import type { RecordedRequest, RequestLog } from './recorded-requests.ts';

/**
 * Whether a request that was built again is the one that was sent:
 * - `exact`: its manager is known with all its options, and it has the recorded number of messages and tokens;
 * - `matching`: it has those numbers, and the recorded name leaves options open, such as the text of a placeholder;
 * - `differs`: it has others;
 * - `erased`: a message of it was erased since;
 * - `unknown`: its manager is not known here;
 * - `counterfactual`: it was never sent, because another strategy made it.
 */
export type Fidelity = 'exact' | 'matching' | 'differs' | 'erased' | 'unknown' | 'counterfactual';

/** A conversation, and what its log says about its requests. */
export interface RebuildOptions {
  /** The conversation of the evaluation in log order, with that of the evaluations that it continues, external contents loaded. */
  readonly messages: readonly ConversationMessage[];
  readonly requests: readonly RecordedRequest[];
  readonly log: Pick<RequestLog, 'summaryBefore' | 'wasErasedAfter'>;
  /** The manager that ran, where it is known. Otherwise it is derived from the recorded name. */
  readonly history?: History | undefined;
  /** Makes the requests that this manager would have sent instead. */
  readonly instead?: History | undefined;
  /** The limits that the caller of `evaluate` gave. */
  readonly limits?: Limits | undefined;
}

/** One request, built again. */
export interface RebuiltRequest {
  readonly recorded: RecordedRequest;
  /** The conversation at the time of the request. */
  readonly conversation: readonly ConversationMessage[];
  readonly strategy: string;
  readonly fidelity: Fidelity;
  /** Absent when the manager is unknown. */
  readonly request?: CuratedRequest;
  /** The manager and its context, to explain differences. */
  readonly history?: History;
  readonly context: CurationContext;
}

/** Builds requests again from a log, one after the other, oldest first. Only the newest one is held in memory. */
export function* rebuildRequests(options: RebuildOptions): Generator<RebuiltRequest, void> {
  const { messages, requests, log, limits } = options;
  const positions = new Map(messages.map(({ id }, position) => [id, position]));
  const managers = new Map<string, KnownManager | undefined>();
  let previous: { readonly history: History; readonly request: CuratedRequest } | undefined;
  for (const actual of requests) {
    const recorded = options.instead ? withoutOutcome(actual) : actual;
    const position = positions.get(recorded.messageId);
    if (position === undefined) continue;
    const conversation = messages.slice(0, position);
    const strategy = options.instead ? asStage(options.instead).name : (recorded.curated?.strategy ?? EVERYTHING.name);
    if (!managers.has(strategy)) managers.set(strategy, managerFor(strategy, options));
    const { history, isWhole = false } = managers.get(strategy) ?? {};
    const context = contextOf(recorded, log, limits);
    if (!history) {
      previous = undefined;
      yield { recorded, conversation, strategy, fidelity: 'unknown', context };
      continue;
    }
    const request = curateRequest({
      ...{ history, messages: conversation, context },
      ...(previous?.history === history && { previous: previous.request }),
    });
    previous = { history, request };
    const found = options.instead ? 'counterfactual' : fidelityOf(recorded, request, conversation, log);
    const fidelity = found === 'exact' && !isWhole ? 'matching' : found;
    yield { recorded, conversation, strategy, fidelity, request, history, context };
  }
}

const EVERYTHING = passthrough();

interface KnownManager {
  readonly history: History;
  /** All its options are known. */
  readonly isWhole: boolean;
}

/** Managers whose name has all their options. */
const WHOLE_NAMES: ReadonlySet<StrategyStep['manager']> = new Set(['passthrough', 'slidingWindow']);

/** The manager with a recorded name: the one that is given, if that is its name, or a built-in one. */
function managerFor(name: string, { history: given, instead }: RebuildOptions): KnownManager | undefined {
  if (instead) return { history: instead, isWhole: true };
  if (given && asStage(given).name === name) return { history: given, isWhole: true };
  const strategy = strategyFromName(name);
  if (!strategy) return undefined;
  const isWhole = strategy.steps.every(({ manager }) => WHOLE_NAMES.has(manager));
  return { history: strategyManager(strategy), isWhole };
}

/** A request without what its provider and the log say about the one that was sent. */
function withoutOutcome({ usage: _, curated: __, finishReason: ___, ...request }: RecordedRequest): RecordedRequest {
  return { ...request, refused: [] };
}

function contextOf(
  { seq, model, curated }: RecordedRequest,
  log: RebuildOptions['log'],
  limits: Limits = {},
): CurationContext {
  const most = Math.min(limits.maxTokens ?? Number.POSITIVE_INFINITY, curated?.maxTokens ?? Number.POSITIVE_INFINITY);
  return {
    summaries: log.summaryBefore(seq),
    limits: {
      ...(model !== undefined && { model }),
      ...limits,
      ...(most < Number.POSITIVE_INFINITY && { maxTokens: most }),
    },
  };
}

function fidelityOf(
  { seq, curated }: RecordedRequest,
  request: CuratedRequest,
  conversation: readonly ConversationMessage[],
  log: RebuildOptions['log'],
): Fidelity {
  if (conversation.some(({ id }) => log.wasErasedAfter(id, seq))) return 'erased';
  if (!curated) return 'exact';
  const { curatedCount, estimatedTokens } = request.record;
  return curatedCount === curated.curatedCount && estimatedTokens === curated.estimatedTokens ? 'exact' : 'differs';
}
