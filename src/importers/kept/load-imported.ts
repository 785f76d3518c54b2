/** Views of sessions in a store, imported or our own: their transcript, conversation and messages (D75). */

import type { SessionConversationState } from '../../conversation/blocks.ts';
import { createConversationState } from '../../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../../conversation/reduce-conversation.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import type { Store } from '../../ports/store.ts';
import type { AnySession } from '../../session/session.ts';
import type { Architecture } from '../../transcripts/agent-names.ts';
import type { ImportedMessagesOptions } from '../../transcripts/message-builder.ts';
import { messagesToEvents } from '../../transcripts/own-log.ts';
import { parseTranscript, transcriptToMessages } from '../../transcripts/parse-transcript.ts';
import { type RawTranscript, type SubagentTranscript, workflowRun } from '../../transcripts/raw-transcript.ts';
import type { LoadedTranscript } from '../load-transcript.ts';
import { bytesOf, type KeptFile, type KeptLog, readKept } from './kept-log.ts';
import { exportOfRows, readKeptRows } from './kept-rows.ts';

/** Loads the transcript of an imported session, in the form that `loadTranscript` loads one from its files. */
export async function loadImported(store: Store, id: string): Promise<LoadedTranscript> {
  const log = await readKept(store, id);
  return { architecture: log.source.architecture as Architecture, raw: await rawOf(log) };
}

/** The conversation of a session for a screen, whether it is imported or our own. */
export async function conversationOf(session: AnySession): Promise<SessionConversationState> {
  if (session.summary?.source) {
    const { architecture, raw } = await loadImported(session.store, session.id);
    return parseTranscript(architecture, raw).state;
  }
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return reduceConversationEvents(createConversationState(), messagesToEvents(events));
}

/** The messages of a session's main conversation with their contents, whether it is imported or our own. */
export async function messagesOf(
  session: AnySession,
  options: ImportedMessagesOptions = {},
): Promise<readonly ConversationMessage[]> {
  if (!session.summary?.source) return await session.resolve(session.messages());
  const { architecture, raw } = await loadImported(session.store, session.id);
  return transcriptToMessages(architecture, raw, options);
}

async function rawOf(log: KeptLog & { readonly source: { readonly layout: string } }): Promise<RawTranscript> {
  const textOf =
    log.source.layout === 'rows'
      ? async (file: KeptFile) => JSON.stringify(exportOfRows(await readKeptRows(log, file)))
      : (file: KeptFile) => readText(log, file);
  const files = [...log.files.values()];
  const main = files.find(({ role }) => role === 'main');
  const metas = new Map(files.flatMap((file) => (file.role === 'meta' ? [[file.agentId, file] as const] : [])));
  const subagents: SubagentTranscript[] = [];
  for (const file of files) {
    if (file.role !== 'subagent') continue;
    const meta = metas.get(file.agentId);
    const runId = workflowRun(file.name);
    subagents.push({
      id: file.agentId ?? file.name,
      transcript: await textOf(file),
      ...(meta && { meta: await readText(log, meta) }),
      ...(runId !== undefined && { runId }),
    });
  }
  const text = main ? await textOf(main) : '';
  return subagents.length === 0 ? text : { main: text, subagents };
}

async function readText(log: KeptLog, file: KeptFile): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parts: string[] = [];
  try {
    for (const batch of file.batches) parts.push(decoder.decode(await bytesOf(log, batch), { stream: true }));
    parts.push(decoder.decode());
    return parts.join('');
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const why = `${file.name} of session ${log.id} is longer than a text can be`;
    throw new HoldfastError('INVALID_ARGUMENT', `${why}; restore it with restoreTranscript and use readTranscript`, {
      cause,
    });
  }
}
