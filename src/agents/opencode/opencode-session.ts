import { HoldfastError } from '../../core/errors.ts';
import { type ConversationMessage, textOf } from '../../core/messages.ts';
import { Suspension } from '../../loop/limits.ts';
import { currentEvaluation, type Run } from '../../loop/run.ts';
import type { OpenCodeState } from './opencode-adapter.ts';
import type { OpenCodeClient, OpenCodeEntry } from './opencode-types.ts';

/** The session that OpenCode goes on in, and what it is told: the prompt, and what our log knows and OpenCode does not (D57). */
export async function openOpenCodeSession(
  run: Run,
  client: OpenCodeClient,
  how: { readonly from: OpenCodeState | undefined; readonly fork: boolean; readonly restart: boolean },
): Promise<{
  readonly sessionId: string;
  readonly prompt?: string;
  readonly note?: string;
  readonly continues: boolean;
  readonly old: ReadonlySet<string>;
}> {
  const messages = currentEvaluation(run).messages.filter((message) => message.role !== 'system');
  const spoken = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  const trailing = messages.slice(spoken + 1).map(textOf);
  const there = how.from && (await client.session.get({ path: { id: how.from.sessionId } })).data;
  if (how.from && !there && !how.restart) {
    throw new HoldfastError(
      'SESSION_NOT_FOUND',
      `OpenCode has no session ${how.from.sessionId} in this data directory; resume it where it was recorded, or evaluate with onInvalid: 'restart'`,
    );
  }
  if (!there) {
    const { data, error } = await client.session.create({ body: { title: `${run.prompt.ns}/${run.prompt.key}` } });
    if (!data) throw failed(JSON.stringify(error));
    const told = messages.filter(({ role }) => role === 'user').map(textOf);
    const note = resultsNote(messages, new Set());
    return { sessionId: data.id, prompt: told.join('\n\n'), continues: false, old: new Set(), ...(note && { note }) };
  }
  const forked = how.fork ? (await client.session.fork({ path: { id: there.id }, body: {} })).data : there;
  if (!forked) throw failed('the session could not be forked');
  const entries = (await client.session.messages({ path: { id: forked.id } })).data ?? [];
  const known = new Set(entries.filter(({ info }) => info.role === 'user').map(textOfEntry));
  const prompt = trailing.filter((text) => !known.has(text)).join('\n\n');
  const note = resultsNote(messages, finishedCalls(entries));
  return {
    sessionId: forked.id,
    continues: prompt === '',
    old: new Set(entries.map(({ info }) => info.id)),
    ...(prompt !== '' && { prompt }),
    ...(note && { note }),
  };
}

function textOfEntry({ parts }: OpenCodeEntry): string {
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}

function finishedCalls(entries: readonly OpenCodeEntry[]): ReadonlySet<string> {
  const parts = entries.flatMap((entry) => entry.parts);
  return new Set(
    parts.flatMap(({ callID, state }) => (callID !== undefined && state?.status === 'completed' ? [callID] : [])),
  );
}

/** What came of calls that OpenCode takes for interrupted: it cannot be told in its own record, so the model is told in words. */
function resultsNote(messages: readonly ConversationMessage[], finished: ReadonlySet<string>): string | undefined {
  const calls = new Map<string, string>();
  const lines: string[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.toolCalls ?? []) calls.set(call.callId, `${call.name} ${call.arguments}`);
    } else if (message.role === 'tool' && !finished.has(message.toolCallId)) {
      lines.push(
        `- ${calls.get(message.toolCallId) ?? message.toolName}: ${message.isError ? 'failed: ' : ''}${textOf(message)}`,
      );
    }
  }
  return lines.length > 0
    ? `The session was interrupted. These calls have ended, with these results:\n${lines.join('\n')}`
    : undefined;
}

/** OpenCode could not be asked, for now. */
export function failed(why: string): Suspension {
  return new Suspension('PROVIDER_FAILED', `OpenCode gave no answer: ${why}; resume to go on`);
}
