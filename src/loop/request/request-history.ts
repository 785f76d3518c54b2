import { inCallOrder } from '../../core/fold/asked-calls.ts';
import { evaluationMessages, evaluationSummaries, refusalLimit } from '../../core/fold/evaluation-messages.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { SessionRecord } from '../../core/fold/record.ts';
import { frozen } from '../../core/frozen.ts';
import type { HistoryCurated, NewEvent, Without } from '../../core/log/events.ts';
import { type AssistantMessage, type ConversationMessage, callsOf, type ToolMessage } from '../../core/log/messages.ts';
import { checkCoherence, repairCoherence } from '../../history/coherence/coherence.ts';
import { type CuratedRequest, curateRequest } from '../../history/curate-request.ts';
import type { CurationContext, CurationPrompt, History } from '../../history/history-manager.ts';
import type { ModelError } from '../../ports/model.ts';
import { refersToContent } from '../../session/read/contents.ts';
import { currentEvaluation, type Run, record } from '../evaluate/run.ts';
import { RunSummaries } from './run-summaries.ts';

/** The messages of a request, and the event that records how they were chosen, as of the time when it is appended. */
interface NextRequest {
  readonly messages: readonly ConversationMessage[];
  readonly events: () => readonly Without<NewEvent, 'at'>[];
}

const NO_EVENTS = (): readonly [] => [];

/**
 * What the provider is sent, kept from request to request so that each costs only what is new: the messages of the evaluations
 * that this one continues, then its own, results in call order (D10), external contents loaded (D58), and of
 * all that what the history manager selects, checked and repaired (D32).
 */
export class RequestHistory {
  #messages: ConversationMessage[] = [];
  /** How many of the evaluation's own messages are in. */
  #taken = 0;
  #begun = false;
  /** Whether all that was taken can be sent as it is: then, without a manager, there is nothing to decide. */
  #sound = true;
  #previous: CuratedRequest | undefined;
  /** The newest erasure that is known here. */
  #erasedSeq: number | undefined;
  #summaries: RunSummaries | undefined;
  /** The limit that refusals have set: read once, and again after each refusal. */
  #limit: { readonly maxTokens: number | undefined } | undefined;
  #prompt: CurationPrompt | undefined;

  /** The messages of the next request, and the event that records how they were chosen, to be appended with the response. */
  next(run: Run, turn: number): NextRequest | Promise<NextRequest> {
    this.#forgetErased(run.session.state.erasedSeq);
    const fresh = this.#takeNew(run);
    if (!fresh.some(refersToContent)) return this.#after(run, turn, fresh);
    return run.session.resolve(fresh).then((resolved) => this.#after(run, turn, resolved));
  }

  #after(run: Run, turn: number, fresh: readonly ConversationMessage[]): NextRequest | Promise<NextRequest> {
    for (const message of fresh) this.#messages.push(frozen(message)); // a model must not change the record (D69)
    const { history, limits } = run.options;
    const isDecided = this.#sound && !history && limits?.maxTokens === undefined && this.#limitOf(run) === undefined;
    return isDecided ? { messages: this.#messages.slice(), events: NO_EVENTS } : this.#choose(run, turn);
  }

  async #choose(run: Run, turn: number): Promise<NextRequest> {
    let curated = this.#curate(run);
    if (curated.needs.length > 0) {
      this.#summaries ??= new RunSummaries();
      await this.#summaries.make(run, curated.needs, this.#erasedSeq);
      if (run.session.state.erasedSeq !== this.#erasedSeq) return this.next(run, turn); // erased meanwhile
      curated = this.#curate(run);
    }
    if (curated.ahead.length > 0) {
      this.#summaries ??= new RunSummaries();
      this.#summaries.begin(run, curated.ahead, this.#erasedSeq);
    }
    this.#previous = curated;
    if (run.options.history && curated.repairs.length > 0) warnOfUnusable(run.options.history, curated);
    const maxTokens = this.#limitOf(run);
    if (maxTokens === undefined && !noteworthy(run, curated)) return { messages: curated.messages, events: NO_EVENTS };
    const events = (): readonly Without<HistoryCurated, 'seq' | 'at'>[] => {
      const problems = this.#summaries?.takeProblems() ?? [];
      return [curatedEvent(run, turn, curated, { problems, ...(maxTokens !== undefined && { maxTokens }) })];
    };
    return { messages: curated.messages, events };
  }

  /**
   * The provider refused the newest request as too long: records that, so that a resume does not send it again, and cuts the next
   * ones to half of it. Returns the limit; undefined when the log has a refusal for this turn already, or nothing more can be cut.
   */
  async refused(run: Run, turn: number, { message, status }: ModelError): Promise<number | undefined> {
    const { modelId: model } = run.model;
    const { refusal } = currentEvaluation(run);
    const sent = this.#previous ?? this.#curate(run);
    const maxTokens = Math.max(1, Math.floor(sent.record.estimatedTokens / 2));
    const refused = { model, maxTokens, ...(status !== undefined && { status }), message: shortened(message) };
    await record(run, [curatedEvent(run, turn, sent, { refused })]);
    this.#limit = undefined;
    if (refusal?.turn === turn && refusal.model === model) return undefined;
    return this.#curate(run).record.estimatedTokens < sent.record.estimatedTokens ? maxTokens : undefined;
  }

  /** No request follows: summaries that are still being made are aborted. Call it before the end of the evaluation is appended. */
  async close(): Promise<void> {
    await this.#summaries?.close();
  }

  /** Erased messages are not sent again: after an erasure everything is read from the record again (D58). */
  #forgetErased(erasedSeq: number | undefined): void {
    if (erasedSeq === this.#erasedSeq) return;
    this.#erasedSeq = erasedSeq;
    this.#messages = [];
    this.#begun = false;
    this.#sound = true;
    this.#previous = undefined;
  }

  /** The messages that came since the last request, in the order they are sent in. */
  #takeNew(run: Run): readonly ConversationMessage[] {
    const evaluation = currentEvaluation(run);
    const begun = this.#begun;
    const added = begun ? evaluation.messages.slice(this.#taken) : [];
    this.#begun = true;
    this.#taken = evaluation.messages.length;
    if (isWholeTurn(added)) return added;
    const fresh = begun ? ordered(added) : beginning(run.session.state.record, evaluation);
    // Whole groups follow one another: what is sound by itself is sound in its place.
    this.#sound &&= checkCoherence(fresh).ok;
    return fresh;
  }

  #limitOf(run: Run): number | undefined {
    this.#limit ??= {
      maxTokens: refusalLimit(run.session.state.record, currentEvaluation(run), run.model.modelId),
    };
    return this.#limit.maxTokens;
  }

  #curate(run: Run): CuratedRequest {
    const { history, limits } = run.options;
    const most = Math.min(
      limits?.maxTokens ?? Number.POSITIVE_INFINITY,
      this.#limitOf(run) ?? Number.POSITIVE_INFINITY,
    );
    this.#prompt ??= curationPrompt(run);
    const context: CurationContext = {
      session: run.session,
      prompt: this.#prompt,
      summaries: evaluationSummaries(run.session.state.record, currentEvaluation(run)),
      limits: { model: run.model.modelId, ...limits, ...(most < Number.POSITIVE_INFINITY && { maxTokens: most }) },
    };
    return curateRequest({
      messages: this.#messages,
      context,
      ...(history && { history }),
      ...(this.#previous && { previous: this.#previous }),
    });
  }
}

/** A copy: a manager must not reach the tools themselves. */
function curationPrompt({ prompt: { ns, key, instructions, tools } }: Run): CurationPrompt {
  const described = tools.map(({ name, description }) => ({ name, description }));
  return frozen({ ns, key, name: `${ns}/${key}`, instructions, tools: described });
}

/** A provider's message longer than this is cut in the event. */
const MOST_SHOWN = 500;

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

const warned = new WeakSet<object>();

/** Reports a manager whose output could not be used as a process warning, once: the request is sent without it (D65). */
function warnOfUnusable(history: History, { repairs, record }: CuratedRequest): void {
  const unusable = repairs.find(({ code }) => code === 'manager-failed' || code === 'invented');
  if (!unusable || warned.has(history)) return;
  warned.add(history);
  process.emitWarning(`history ${record.strategy}: ${unusable.repair}`, 'HoldfastWarning');
}

/** A request without a manager is worth an event only when something in it had to be repaired. */
function noteworthy(run: Run, curated: CuratedRequest): boolean {
  return run.options.history !== undefined || curated.repairs.length > 0;
}

function curatedEvent(
  run: Run,
  turn: number,
  { record }: CuratedRequest,
  { problems = [], ...more }: Pick<HistoryCurated, 'refused' | 'maxTokens'> & { readonly problems?: readonly string[] },
): Without<HistoryCurated, 'seq' | 'at'> {
  const { ns, key } = run.prompt;
  const repairs = problems.length > 0 && { repairs: [...(record.repairs ?? []), ...problems] };
  const { evaluationId } = run;
  return { type: 'history/curated', evaluationId, turn, promptName: `${ns}/${key}`, ...record, ...repairs, ...more };
}

/** Whether these are a response and the results of its calls, in call order, as almost always: there is nothing to arrange or check. */
function isWholeTurn(messages: readonly ConversationMessage[]): boolean {
  const [response] = messages;
  const calls = response ? callsOf(response) : [];
  if (calls.length === 0 || messages.length !== calls.length + 1) return false;
  for (let i = 0; i < calls.length; i++) {
    const result = messages[i + 1];
    if (result?.role !== 'tool' || result.toolCallId !== calls[i]?.callId) return false;
  }
  return true;
}

/** Messages with each turn's results in the order of its calls, whatever order they finished in. */
function ordered(messages: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const result: ConversationMessage[] = [];
  let asking: AssistantMessage | undefined;
  let results: ToolMessage[] = [];
  const flush = (): void => {
    if (asking) result.push(asking, ...inCallOrder(asking.toolCalls, results));
    asking = undefined;
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool' && asking) results.push(message);
    else {
      flush();
      if (message.role === 'assistant') asking = message;
      else result.push(message);
    }
  }
  flush();
  return result;
}

/** What there is before this process adds to it, also of the evaluations that it continues (D50); open calls are repaired. */
function beginning(record: SessionRecord, evaluation: Evaluation): readonly ConversationMessage[] {
  return repairCoherence(ordered(evaluationMessages(record, evaluation))).messages;
}
