import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import { BlockWriter } from '../block-writer.ts';
import type { TranscriptDiagnostics } from '../diagnostics.ts';
import { asName, asText } from '../json-access.ts';
import { OldestFirst } from '../oldest-first.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptEvents, TranscriptFacts, TranscriptFormat } from '../transcript-format.ts';
import { OpenCodeConversation } from './conversation.ts';
import { type Moment, momentsOf, type OpenCodeExport, parseExport, parseExports } from './export.ts';
import { openCodeMessages } from './messages.ts';
import { isoTime } from './time.ts';

/** The JSON that `opencode export` prints. Sessions from OpenCode's database and files are converted to it first. */
export const openCodeFormat: TranscriptFormat = {
  detect: (main) => parseExport(main) !== undefined,
  toEvents: openCodeTranscriptEvents,
  toMessages: openCodeMessages,
  readFacts: openCodeFacts,
};

/** The facts of an exported session, from its `info`. */
function openCodeFacts(raw: RawTranscript): TranscriptFacts {
  const info = parseExports(raw)[0]?.info ?? {};
  return {
    project: asName(info.directory),
    version: asName(info.version),
    session: asName(info.id),
    title: asName(info.title),
  };
}

/** Converts a transcript to events: an export, or one with the exports of its children. */
function openCodeTranscriptEvents(raw: RawTranscript): TranscriptEvents {
  const transcript = new OpenCodeTranscript(parseExports(raw));
  const events: ConversationEvent[] = [];
  for (const made of transcript.read()) for (const event of made) events.push(event);
  return { events, diagnostics: transcript.diagnostics };
}

/** Converts a session and its children, one message at a time. */
export class OpenCodeTranscript {
  readonly #writer = new BlockWriter();
  readonly #exports: readonly OpenCodeExport[];

  /** The first export is the main session's. */
  constructor(exports: readonly OpenCodeExport[]) {
    this.#exports = exports;
  }

  *read(): Generator<ConversationEvent[]> {
    const main = this.#exports[0];
    if (main === undefined) {
      this.#writer.diagnostics.problem('not-a-transcript');
      return;
    }
    const conversation = new OpenCodeConversation(this.#writer, asName(main.info.id) ?? '');
    for (const { info } of this.#exports) conversation.addSession(info);
    let at = '';
    for (const { time, happened } of inOrder(this.#exports)) {
      at = isoTime(time);
      if ('message' in happened) {
        this.#writer.diagnostics.count(`message/${asText(happened.message.role) ?? ''}`);
        conversation.addMessage(happened.message, at);
      } else {
        this.#writer.diagnostics.count(`part/${asText(happened.part.type) ?? ''}`);
        conversation.addPart(happened.part, at);
      }
      yield this.#writer.take();
    }
    this.#writer.settleAll(this.#writer.hasOpenBlocks(MAIN_CONVERSATION) ? 'interrupted' : 'completed', at);
    yield this.#writer.take();
  }

  get diagnostics(): TranscriptDiagnostics {
    return this.#writer.diagnostics.report();
  }
}

/** The moments of all sessions, oldest first; at the same time, the parent's before its children's. */
function* inOrder(exports: readonly OpenCodeExport[]): Generator<Moment> {
  const reading = new OldestFirst<{ head: Moment | undefined; advance(): void }>(({ head }) => head?.time);
  for (const [index, session] of exports.entries()) {
    const moments = momentsOf(session);
    const cursor = {
      head: undefined as Moment | undefined,
      advance(): void {
        this.head = moments.next().value ?? undefined;
      },
    };
    cursor.advance();
    if (cursor.head) reading.add(cursor, index);
  }
  for (let next = reading.oldest; next?.head; next = reading.oldest) {
    yield next.head;
    next.advance();
    reading.advanced();
  }
}
