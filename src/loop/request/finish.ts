import type { StandardSchemaV1 } from '@standard-schema/spec';
import { messageOf } from '../../core/errors.ts';
import type { NewEvent, Without } from '../../core/log/events.ts';
import { type AssistantMessage, type ConversationMessage, textOf } from '../../core/log/messages.ts';
import { type Validated, validate } from '../define/json-schema.ts';
import { currentEvaluation, messageBase, nowOf, type Run, record } from '../evaluate/run.ts';

/** How a response without calls ends an evaluation, or is returned to the model because it does not fit the output schema. */

const DEFAULT_OUTPUT_RETRIES = 2;

/** Decides about a response that is recorded and has not ended its evaluation: another adapter's, or an older version's. */
export async function finish(run: Run): Promise<void> {
  const newest = currentEvaluation(run).messages.at(-1);
  const [message] = newest ? await run.session.resolve([newest]) : [];
  if (message?.role !== 'assistant') return;
  const checked = run.prompt.output && (await checkOutput(run.prompt.output.schema, message));
  const after: readonly Without<NewEvent, 'at'>[] =
    checked?.ok === false
      ? correction(run, message, checked.problem)
      : [{ type: 'evaluation/completed', evaluationId: run.evaluationId }];
  if (!after.some(({ type }) => type === 'message/recorded')) void run.history.close(); // no summary is recorded after the end
  await record(run, after);
}

/**
 * Parses a response for the output schema: JSON, in a code fence or not. An agent may write text first; then its last part is
 * parsed.
 */
export async function checkOutput<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  message: Pick<ConversationMessage, 'content'>,
): Promise<Validated<Output>> {
  const whole = readJson(textOf(message));
  if (whole.ok) return validate(schema, whole.value);
  const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const alone = readJson(texts.at(-1) ?? '');
  return alone.ok ? validate(schema, alone.value) : whole;
}

function readJson(written: string): Validated<unknown> {
  const text = written.trim();
  const fenced = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(text);
  try {
    return { ok: true, value: JSON.parse(fenced?.[1] ?? text) as unknown };
  } catch (error) {
    return { ok: false, problem: text === '' ? 'it was empty' : `it was not JSON: ${messageOf(error)}` };
  }
}

/** The events after a response that does not fit: a message that names the problem or, after too many, the failure. */
export function correction(run: Run, response: AssistantMessage, problem: string): readonly Without<NewEvent, 'at'>[] {
  const evaluation = currentEvaluation(run);
  const { outputRetries = DEFAULT_OUTPUT_RETRIES } = run.options;
  if (correctionsIn(evaluation.messages) >= outputRetries) {
    return [
      {
        type: 'evaluation/failed',
        evaluationId: run.evaluationId,
        error: { code: 'OUTPUT_INVALID', message: `the response does not fit the output schema: ${problem}` },
      },
    ];
  }
  const text = `Your answer cannot be used: ${problem}. Answer again, with nothing but JSON that fits the schema.`;
  // The response may not be in the log yet, or there in several pieces.
  const sequence = Math.max(response.sequence + 1, evaluation.nextSequence);
  const message: ConversationMessage = {
    ...messageBase(evaluation, { sequence, turn: 0 }, nowOf(run)),
    role: 'user',
    content: [{ type: 'text', text }],
  };
  return [{ type: 'message/recorded', message }];
}

/** How many responses of this evaluation were returned: each left a user message right behind a response without calls. */
function correctionsIn(messages: Iterable<ConversationMessage>): number {
  let isAfterResponse = false;
  let count = 0;
  for (const message of messages) {
    if (message.role === 'user' && isAfterResponse) count++;
    isAfterResponse = message.role === 'assistant' && !message.toolCalls?.length;
  }
  return count;
}
