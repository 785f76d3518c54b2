/** Makes a session of our own from an imported one (D55, D75). */
import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import type { Store } from '../../ports/store.ts';
import { openSession, type Session } from '../../session/session.ts';
import { messagesUntilBlock } from '../../transcripts/messages-until-block.ts';
import { parseTranscript, transcriptToMessages } from '../../transcripts/parse-transcript.ts';
import type { LoadedTranscript } from '../load-transcript.ts';
import { loadImported } from './load-imported.ts';

/** Options of `continueTranscript`. */
export interface ContinueOptions {
  /** The id of the new session; a random one unless given. */
  readonly id?: string;
  /** The id of the last block of the main conversation that is copied. Default: all of them. */
  readonly at?: string | undefined;
  /** Where to start: at the first message, or at the newest summary that the agent made. Default: `start`. */
  readonly from?: 'start' | 'compaction';
}

const KNOWN: KnownOptions<ContinueOptions> = { id: true, at: true, from: true };

/**
 * Begins a session of our own with the messages of an imported one, up to a block if given: an evaluation that has ended, which the next one
 * `continues`. The imported session does not change. The new one survives it.
 */
export async function continueTranscript(
  store: Store,
  importedId: string,
  options: ContinueOptions = {},
): Promise<Session<readonly []>> {
  refuseUnknownOptions('continueTranscript', options, KNOWN);
  const loaded = await loadImported(store, importedId);
  const evaluation = { evaluationId: `imported:${randomUUID()}`, promptNs: 'import', promptKey: 'transcript' };
  const messages = messagesAt(loaded, importedId, options, evaluation);
  const origin = await openSession({ store, id: importedId, readOnly: true });
  const { seq, summary } = origin;
  await origin.close();
  const id = options.id ?? `${importedId.slice(0, 470)}-continued-${randomUUID().slice(0, 8)}`.toWellFormed();
  const session = await openSession({ store, id });
  const { title } = summary ?? {};
  const cwd = summary?.metadata.cwd;
  try {
    await session.append(
      [
        { type: 'session/forked', origin: { sessionId: importedId, seq } },
        {
          type: 'session/described',
          ...(title !== undefined && { title }),
          ...(typeof cwd === 'string' && { metadata: { cwd } }),
        },
        { type: 'evaluation/started', conversationId: 'main', promptHash: '', inputHash: '', ...evaluation },
        ...messages.map((message) => ({ type: 'message/recorded', message })),
        { type: 'evaluation/completed', evaluationId: evaluation.evaluationId },
      ],
      {
        guard: (state) => {
          if (state.seq === 0) return;
          throw new HoldfastError('SESSION_CONFLICT', `session ${id} exists; give the new session another id`);
        },
      },
    );
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}

function messagesAt(
  { architecture, raw }: LoadedTranscript,
  importedId: string,
  { at, from = 'start' }: ContinueOptions,
  evaluation: { readonly evaluationId: string; readonly promptNs: string; readonly promptKey: string },
): readonly ConversationMessage[] {
  const messages = transcriptToMessages(architecture, raw, { ...evaluation, from });
  if (at === undefined) return messages;
  const cut = messagesUntilBlock(messages, parseTranscript(architecture, raw).state.blocks, at);
  if (cut) return cut;
  throw new HoldfastError(
    'CONVERSATION_NOT_FOUND',
    `the main conversation of session ${importedId} has no block ${JSON.stringify(at)}; conversationOf lists its blocks`,
  );
}
