import { HoldfastError } from '../../core/errors.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import { type PromptIdentity, promptMismatch } from '../../core/log/prompt-identity.ts';
import { validate } from '../define/json-schema.ts';
import { inputHash, paramsHash } from '../evaluate/evaluation-identity.ts';
import type { CompletedResponse } from '../evaluate/provider-adapter.ts';
import { checkOutput } from '../request/finish.ts';
import type { PreparedRequest } from './main-loop.ts';

/** The response of a completed request as a checkpoint handler keeps it: plain JSON, with what it is the response to. */
export interface KeptResponse extends CompletedResponse<unknown> {
  readonly format: 'holdfast-answer';
  readonly version: 1;
  readonly prompt: PromptIdentity;
  readonly inputHash: string;
  readonly paramsHash: string;
}

/** A response to keep. */
export function keepResponse<Output>(
  prepared: PreparedRequest<Output>,
  response: CompletedResponse<Output>,
): KeptResponse {
  const { ns, key, hash } = prepared.prompt;
  return {
    format: 'holdfast-answer',
    version: 1,
    prompt: { ns, key, hash },
    inputHash: inputHash(prepared),
    paramsHash: paramsHash(prepared),
    ...response,
  };
}

/** The kept response that a handler loaded; undefined if it loaded a snapshot, or nothing. */
export function readKeptResponse(loaded: unknown): KeptResponse | undefined {
  if (typeof loaded === 'string' && !loaded.includes('"holdfast-answer"')) return undefined; // a snapshot may be long
  const value = typeof loaded === 'string' ? parse(loaded) : loaded;
  if (!isRecord(value) || value.format !== 'holdfast-answer') return undefined;
  if (value.version !== 1 || value.status !== 'completed' || typeof value.text !== 'string') {
    throw new HoldfastError(
      'CHECKPOINT_INVALID',
      'the kept response of this request cannot be read; update holdfast, or clear the checkpoint to run the request again',
    );
  }
  return value as unknown as KeptResponse;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // restoring it as a snapshot reports the problem
  }
}

/**
 * The response to a request that was completed before; undefined when the kept response is that of another input, of other params
 * or of another prompt. A prompt that changed since is refused, as a resume would refuse it (D4).
 */
export async function responseFrom<Output>(
  kept: KeptResponse,
  prepared: PreparedRequest<Output>,
): Promise<CompletedResponse<Output> | undefined> {
  const { format: _, version: __, prompt, inputHash: input, paramsHash: params, ...response } = kept;
  if (input !== inputHash(prepared) || params !== paramsHash(prepared)) return undefined;
  const recorded = { promptNs: prompt.ns, promptKey: prompt.key, promptHash: prompt.hash };
  if (promptMismatch(recorded, prepared.prompt, 'relaxed')) return undefined;
  const why = promptMismatch(recorded, prepared.prompt, prepared.promptValidation ?? 'strict');
  if (why) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `the kept response of evaluation ${kept.evaluationId} is of another version: ${why}, or onInvalid: 'restart' to run the request again`,
    );
  }
  const { output } = prepared.prompt;
  if (!output) return { ...response, output: undefined } as CompletedResponse<Output>;
  const fromText = await checkOutput(output.schema, { content: [{ type: 'text', text: kept.text }] });
  const checked = fromText.ok ? fromText : await validate(output.schema, kept.output);
  if (checked.ok) return { ...response, output: checked.value };
  throw new HoldfastError(
    'OUTPUT_INVALID',
    `the kept response of evaluation ${kept.evaluationId} does not fit the output schema: ${checked.problem}; use onInvalid: 'restart' to run the request again`,
  );
}
