import { HoldfastError } from '../../core/errors.ts';
import { continuedEvaluations } from '../../core/fold/evaluation-messages.ts';
import { type ConversationMessage, textOf, type UserMessage } from '../../core/log/messages.ts';
import { mediaOf } from '../../formats/media.ts';
import { currentEvaluation, type Run } from '../../loop/evaluate/run.ts';
import { Suspension } from '../../loop/evaluate/suspension.ts';
import { endedCalls } from '../run-open-calls.ts';
import type { OpenCodeClient, OpenCodeEntry } from './opencode-types.ts';

/**
 * The session that OpenCode continues, and the messages for it: the prompt, none if it has it, and what our log has and
 * OpenCode does not (D57).
 */
export async function openOpenCodeSession(
  run: Run,
  client: OpenCodeClient,
  how: { readonly from: string | undefined; readonly fork: boolean; readonly restart: boolean },
): Promise<{
  readonly sessionId: string;
  readonly prompt: UserMessage['content'];
  readonly note: string | undefined;
  /** Messages that are there already. */
  readonly old: ReadonlySet<string>;
}> {
  const messages = await run.session.resolve(unfinishedMessages(run));
  const there = how.from === undefined ? undefined : (await client.session.get({ path: { id: how.from } })).data;
  if (how.from !== undefined && !there && !how.restart) {
    throw new HoldfastError(
      'SESSION_NOT_FOUND',
      `OpenCode has no session ${how.from} in this data directory; resume it where it was recorded, or create the adapter with onInvalid: 'restart'`,
    );
  }
  if (!there) {
    const { data, error } = await client.session.create({ body: { title: `${run.prompt.ns}/${run.prompt.key}` } });
    if (!data) throw failed(JSON.stringify(error));
    const prompt = messages.flatMap((message) => (message.role === 'user' ? message.content : []));
    return { sessionId: data.id, prompt, note: resultsNote(messages, new Set()), old: new Set() };
  }
  const { data: forked, error } = how.fork
    ? await client.session.fork({ path: { id: there.id }, body: {} })
    : { data: there };
  if (!forked) throw failed(`the session could not be forked: ${JSON.stringify(error)}`);
  const { data: entries, error: unread } = await client.session.messages({ path: { id: forked.id } });
  if (!entries) throw failed(`its messages could not be read: ${JSON.stringify(unread)}`);
  const lastResponse = messages.findLastIndex(({ role }) => role !== 'user');
  const known = waitingTexts(entries);
  const prompt = messages
    .slice(lastResponse + 1)
    .flatMap((message) => (message.role === 'user' && !isKnown(message, known) ? message.content : []));
  return {
    sessionId: forked.id,
    prompt,
    note: resultsNote(messages, finishedCalls(entries)),
    old: new Set(entries.map(({ info }) => info.id)),
  };
}

/**
 * The messages that OpenCode may lack: of the evaluation, and of those that it continues and that did not complete. One that was
 * cancelled may have ended before OpenCode received its prompt, and its open calls got their results afterwards (D61).
 */
function unfinishedMessages(run: Run): readonly ConversationMessage[] {
  const chain = continuedEvaluations(run.session.state.record.evaluations, currentEvaluation(run));
  const completed = chain.findIndex(({ status }) => status === 'completed');
  const unfinished = completed < 0 ? chain : chain.slice(0, completed);
  return unfinished.toReversed().flatMap(({ messages }) => messages.filter(({ role }) => role !== 'system'));
}

/** Messages that OpenCode has and has not responded to. A response that was cut off may have left an empty text. */
function waitingTexts(entries: readonly OpenCodeEntry[]): ReadonlySet<string> {
  const isResponse = ({ info, parts }: OpenCodeEntry): boolean =>
    info.role === 'assistant' && parts.some(({ type, text }) => type === 'tool' || (type === 'text' && text !== ''));
  const waiting = entries.slice(entries.findLastIndex(isResponse) + 1).filter(({ info }) => info.role === 'user');
  return new Set(waiting.flatMap(({ parts }) => parts.map(({ text }) => text ?? '')));
}

/** Whether OpenCode has a message: each of its texts. One without text cannot be recognised, and is sent again. */
function isKnown({ content }: UserMessage, known: ReadonlySet<string>): boolean {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length > 0 && texts.every((text) => known.has(text));
}

/** Content as the parts of a prompt. */
export function partsOf(content: UserMessage['content']): readonly object[] {
  return content.map((part) => {
    if (part.type === 'text') return part;
    const media = mediaOf(part);
    const url = media.kind === 'url' ? media.url : `data:${media.mediaType};base64,${media.base64}`;
    return {
      type: 'file',
      mime: media.mediaType,
      url,
      ...(part.filename !== undefined && { filename: part.filename }),
    };
  });
}

function finishedCalls(entries: readonly OpenCodeEntry[]): ReadonlySet<string> {
  const parts = entries.flatMap((entry) => entry.parts);
  return new Set(
    parts.flatMap(({ callID, state }) => (callID !== undefined && state?.status === 'completed' ? [callID] : [])),
  );
}

/** Outcomes of calls that OpenCode regards as interrupted: its own record cannot take them, so the model receives them as text. */
function resultsNote(messages: readonly ConversationMessage[], finished: ReadonlySet<string>): string | undefined {
  const lines = endedCalls(messages)
    .filter(({ result }) => !finished.has(result.toolCallId))
    .map(({ call, result }) => `- ${call}: ${result.isError ? 'failed: ' : ''}${textOf(result)}`);
  return lines.length > 0
    ? `The session was interrupted. These calls have ended, with these results:\n${lines.join('\n')}`
    : undefined;
}

/** OpenCode could not be asked, for now. */
export function failed(why: string): Suspension {
  return new Suspension('PROVIDER_FAILED', `OpenCode did not respond: ${why}; resume to continue`);
}
