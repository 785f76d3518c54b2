import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { toModel } from '../../models/ai-sdk.ts';
import { openSession } from '../../session/session.ts';
import { lateModule } from '../../stores/late-module.ts';
import { memoryStore } from '../../stores/memory.ts';
import type { Prompt } from '../define/define-prompt.ts';
import { slicesOf } from '../define/tool-slices.ts';
import { checkPrices, type Prices } from '../request/prices.ts';
import type { RecordProviderMetadata } from '../request/provider-metadata.ts';
import { evaluateInSession } from './evaluate-in-session.ts';
import type { EvaluateOptions, EvaluationResponse, ProviderAdapter } from './provider-adapter.ts';
import type { LoopSettings } from './run.ts';
import { runSession } from './run-session.ts';

/** Options of `createAdapter`. */
export interface AdapterOptions {
  /** Any AI SDK language model, or a model of our own port such as `scriptedModel`. */
  readonly model: Parameters<typeof toModel>[0];
  /** Makes the summaries that history managers ask for; by default the same model. */
  readonly summaryModel?: Parameters<typeof toModel>[0];
  /** How often a provider that fails for now is asked again. */
  readonly maxModelRetries?: number;
  /**
   * The longest pause that a provider may ask for (`retry-after`) and that is waited for in this process; one minute unless given. A
   * longer one suspends the evaluation until then, and a worker continues it.
   */
  readonly maxProviderWaitMs?: number;
  /** Prices of models that report no cost, by model id, for `budget.maxCostUsd` and the usage in the log. */
  readonly prices?: Prices;
  /** How long a lease lasts when its process goes silent; 30 seconds unless given. */
  readonly leaseTtlMs?: number;
  /** Records the provider's metadata of each response with its message, capped and without secrets; off unless given. */
  readonly recordProviderMetadata?: RecordProviderMetadata;
  /** How long a tool may block the event loop before the process counts as hung and loses the session; 10 minutes unless given. */
  readonly maxBlockedMs?: number;
  /** Spreads retries; a number from 0 to 1. */
  readonly random?: () => number;
}

const DEFAULT_MODEL_RETRIES = 4;
const DEFAULT_PROVIDER_WAIT_MS = 60_000;

const KNOWN: KnownOptions<AdapterOptions> = {
  model: true,
  summaryModel: true,
  maxModelRetries: true,
  maxProviderWaitMs: true,
  prices: true,
  maxBlockedMs: true,
  recordProviderMetadata: true,
  leaseTtlMs: true,
  random: true,
};

/** Makes an adapter that runs prompts with a model, in our own loop. */
export function createAdapter(options: AdapterOptions): ProviderAdapter {
  refuseUnknownOptions('createAdapter', options, KNOWN);
  if (!options?.model) throw new HoldfastError('INVALID_ARGUMENT', 'createAdapter needs a model');
  checkPrices(options.prices ?? {});
  const model = toModel(options.model);
  const settings: LoopSettings = {
    model,
    summaryModel: options.summaryModel ? toModel(options.summaryModel) : model,
    maxModelRetries: options.maxModelRetries ?? DEFAULT_MODEL_RETRIES,
    maxProviderWaitMs: options.maxProviderWaitMs ?? DEFAULT_PROVIDER_WAIT_MS,
    prices: options.prices ?? {},
    recordProviderMetadata: options.recordProviderMetadata,
    leaseTtlMs: options.leaseTtlMs,
    maxBlockedMs: options.maxBlockedMs,
    random: options.random ?? Math.random,
  };

  async function evaluate<Output>(
    prompt: Prompt<Output>,
    given: EvaluateOptions = {},
  ): Promise<EvaluationResponse<Output>> {
    const session =
      given.session ??
      (await openSession({
        store: memoryStore(),
        id: lateModule('node:crypto').randomUUID(),
        slices: slicesOf(prompt),
      }));
    const response = await evaluateInSession(settings, session, prompt as Prompt<unknown>, given);
    return response as EvaluationResponse<Output>;
  }

  return {
    evaluate,
    run: (prompt, given) => runSession(settings, prompt, given),
    stream: (prompt, given) =>
      streamEvents((onEvent) => evaluate(prompt, { ...given, onEvent } as EvaluateOptions), given?.onEvent),
  };
}

/** Starts a run and yields its events, in order; unread events only cost memory. `also` gets every event, too. */
export function streamEvents<Event, Response>(
  start: (onEvent: (event: Event) => unknown) => Promise<Response>,
  also?: (event: Event) => unknown,
): AsyncIterable<Event> & { readonly response: Promise<Response> } {
  const waiting: Event[] = [];
  const sleepers = new Set<() => void>();
  const wake = (): void => {
    for (const sleeper of sleepers) sleeper();
    sleepers.clear();
  };
  let ended = false;
  const response = start((event) => {
    waiting.push(event);
    wake();
    return also?.(event); // whatever it throws or rejects with is the loop's to deal with
  }).finally(() => {
    ended = true;
    wake();
  });
  response.catch(() => {}); // the caller gets it from `response` or from the iteration
  return {
    response,
    async *[Symbol.asyncIterator]() {
      for (;;) {
        for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
        if (ended) break;
        await new Promise<void>((resolve) => sleepers.add(resolve));
      }
      await response; // a run that failed ends the iteration with its error
    },
  };
}
