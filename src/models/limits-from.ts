import { HoldfastError, messageOf } from '../core/errors.ts';
import { isRecord } from '../core/log/message-problem.ts';
import type { Limits } from '../history/history-manager.ts';

/** How to ask a provider for the limits of a model. */
export interface LimitsFromOptions {
  /** The model's id, for an address that lists several models. */
  readonly model?: string;
  /** The provider's key, as it wants it: `{ 'x-api-key': … }`, `{ authorization: 'Bearer …' }`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How much of the context window to leave for the response; by default what the model can write, at most a quarter of the window. */
  readonly maxOutputTokens?: number;
  /** Limits by model id, for when the provider does not report any or cannot be reached. */
  readonly models?: Readonly<Record<string, number>>;
  /** Ends the request; by default it ends after ten seconds. */
  readonly signal?: AbortSignal;
}

/** What providers call the tokens that request and response share, the tokens of a request alone, and those of a response. */
const WINDOW = [
  'max_input_tokens', // Anthropic
  'context_length', // OpenRouter, Together, Fireworks
  'max_model_len', // vLLM
  'context_window', // Groq
  'max_context_length', // Mistral, LM Studio
  'loaded_context_length', // LM Studio
];
const REQUEST = ['inputTokenLimit']; // Google
const RESPONSE = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'outputTokenLimit'];

const TIMEOUT_MS = 10_000;
const LARGEST_RESERVE = 0.25;

/**
 * Asks a provider's models endpoint how large a request may be: `limits: await limitsFrom('https://api.anthropic.com/v1/models/<id>',
 * { headers })`. Sends one GET request. `maxTokens` leaves room for a response in a context window that both share. Throws
 * `PROVIDER_FAILED` when the provider reports no limit and `models` has none.
 */
export async function limitsFrom(url: string | URL, options: LimitsFromOptions = {}): Promise<Limits> {
  const { model, models = {}, maxOutputTokens } = options;
  let cause: unknown;
  try {
    const entry = entryOf(await readJson(url, options), model);
    const response = smallest(entry, RESPONSE);
    const window = smallest(entry, WINDOW);
    const reserve = maxOutputTokens ?? Math.min(response, window * LARGEST_RESERVE);
    const maxTokens = Math.floor(Math.min(smallest(entry, REQUEST), window - reserve));
    if (maxTokens > 0 && maxTokens < Number.POSITIVE_INFINITY) {
      const id = model ?? (typeof entry.id === 'string' ? entry.id : undefined);
      return {
        maxTokens,
        ...(id !== undefined && { model: id }),
        ...(response < Number.POSITIVE_INFINITY && { maxOutputTokens: response }),
      };
    }
  } catch (error) {
    cause = error;
  }
  const known = model !== undefined && Object.hasOwn(models, model) ? models[model] : undefined;
  if (model !== undefined && known !== undefined) return { model, maxTokens: known };
  const why = cause === undefined ? 'its response names no limit' : messageOf(cause);
  const what = model ?? 'the model';
  const advice = "give the address of a models endpoint that does, `models: { '<id>': tokens }`, or limits of your own";
  throw new HoldfastError('PROVIDER_FAILED', `${new URL(url).host} reports no limits of ${what}: ${why}; ${advice}`, {
    cause,
  });
}

async function readJson(url: string | URL, { headers = {}, signal }: LimitsFromOptions): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json', ...headers },
    redirect: 'error', // the key is for this address only
    signal: signal ?? AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

/** The description of a model: the body itself, which may give it another name, or an entry in a list. */
function entryOf(body: unknown, model: string | undefined): Readonly<Record<string, unknown>> {
  const list = Array.isArray(body) ? body : isRecord(body) ? (body.data ?? body.models) : [];
  if (!Array.isArray(list)) return isRecord(body) ? body : {};
  const entries = list.filter(isRecord);
  const [found] = model === undefined ? entries : entries.filter(({ id, name }) => id === model || name === model);
  if (found && (model !== undefined || entries.length === 1)) return found;
  throw new Error(model === undefined ? 'it lists several models, so name one' : `it does not list "${model}"`);
}

/** The smallest of the fields that have a number, also of the provider that a gateway prefers; infinite without one. */
function smallest(entry: Readonly<Record<string, unknown>>, fields: readonly string[]): number {
  const places = [entry, isRecord(entry.top_provider) ? entry.top_provider : {}];
  const numbers = places.flatMap((place) => fields.map((field) => place[field]));
  return Math.min(
    ...numbers.map((value) => (typeof value === 'number' && value > 0 ? value : Number.POSITIVE_INFINITY)),
  );
}
