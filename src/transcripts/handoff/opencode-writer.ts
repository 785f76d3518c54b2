/**
 * Writes a session as `opencode import` takes it. Ids are new: OpenCode has one table of messages, and a message whose id it knows is not
 * imported, without an error. It sorts messages by time and parts by id, and compares the ids of messages with those that it adds later.
 */
import type { MediaPart } from '../../core/log/messages.ts';
import { onLossOf } from '../../formats/losses.ts';
import { mediaUrl, orLoss, refusedType, Unsendable, webMedia } from '../../formats/media.ts';
import { EMPTY_MESSAGE } from '../../formats/placeholders.ts';
import type { Json } from '../json-access.ts';
import type { HandedCall, HandedPrompt, HandedResponse, HandedTurn } from './handed-turns.ts';
import { lineCount, Timeline, type TranscriptWriter, type WriterContext } from './transcript-writer.ts';

/** The version whose format this is. */
const VERSION = '1.18.33';
const AGENT = 'build';
/** Stands for the provider and the model when none is named. */
export const NO_PROVIDER = 'handoff';
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
const MAX_TITLE = 100;

export const openCodeWriter: TranscriptWriter = {
  accepts: (id) => /^ses_[A-Za-z0-9]{8,64}$/.test(id),
  newSessionId: ({ at, newId }) => openCodeSessionId(at, newId()),
  write(turns, context) {
    const session = new OpenCodeSessionWriter(turns, context);
    for (const turn of turns) session.add(turn);
    return `${JSON.stringify(session.finish(), null, 1)}\n`;
  },
};

class OpenCodeSessionWriter {
  readonly #context: WriterContext;
  readonly #times: Timeline;
  readonly #ids: OpenCodeIds;
  readonly #messages: { readonly info: Json; readonly parts: readonly Json[] }[] = [];
  readonly #model: { readonly providerID: string; readonly modelID: string };
  readonly #title: string;
  #prompt = '';
  #updated = 0;

  constructor(turns: readonly HandedTurn[], context: WriterContext) {
    this.#context = context;
    this.#times = new Timeline(lineCount(turns), context.at);
    this.#ids = new OpenCodeIds(context.at, context.newId);
    this.#model = modelOf(context);
    this.#title = titleOf(turns);
  }

  add(turn: HandedTurn): void {
    if (turn.kind === 'prompt') this.#addPrompt(turn);
    else this.#addResponse(turn);
  }

  finish(): Json {
    const { sessionId: id, cwd: directory, at } = this.#context;
    const time = { created: at, updated: Math.max(at, this.#updated) };
    const info = { id, slug: 'handed-over', projectID: 'global', directory, title: this.#title };
    return { info: { ...info, version: VERSION, time }, messages: this.#messages };
  }

  #addPrompt({ at, content }: HandedPrompt): void {
    const created = this.#time(at);
    const id = this.#ids.message(created);
    const part = this.#partOf(id, created);
    const parts = content.flatMap((item): readonly Json[] =>
      item.type === 'text' ? [part({ type: 'text', text: item.text })] : this.#file(item, '').map(part),
    );
    if (parts.length === 0) parts.push(part({ type: 'text', text: EMPTY_MESSAGE }));
    this.#prompt = id;
    const info = { id, sessionID: this.#context.sessionId, role: 'user', time: { created }, agent: AGENT };
    this.#messages.push({ info: { ...info, model: this.#model }, parts });
  }

  #addResponse({ at, texts, calls }: HandedResponse): void {
    const { sessionId: sessionID, cwd } = this.#context;
    const created = this.#time(at);
    const id = this.#ids.message(created);
    const part = this.#partOf(id, created);
    const written = texts.map((text) => part({ type: 'text', text, time: { start: created, end: created } }));
    const parts = [...written, ...calls.map((call) => part(this.#tool(call, created, part)))];
    const info = {
      id,
      sessionID,
      role: 'assistant',
      parentID: this.#prompt,
      ...this.#model,
      mode: AGENT,
      agent: AGENT,
    };
    const finish = calls.length > 0 ? 'tool-calls' : 'stop';
    const spent = { cost: 0, tokens: NO_TOKENS, finish };
    const time = { created, completed: this.#time('') };
    this.#messages.push({ info: { ...info, time, path: { cwd, root: cwd }, ...spent }, parts });
  }

  #tool({ id, name, input, at, content, isError }: HandedCall, start: number, part: (fields: Json) => Json): Json {
    const text = content.flatMap((item) => (item.type === 'text' ? [item.text] : [])).join('\n');
    const media = content.filter((item): item is MediaPart => item.type !== 'text');
    const time = { start, end: this.#time(at) };
    if (isError) {
      for (const _ of media) this.#context.losses.add('medium of a failed result', 'OpenCode has no place for it', id);
      return { type: 'tool', tool: name, callID: id, state: { status: 'error', input, error: text, time } };
    }
    const attachments = media.flatMap((item) => this.#file(item, id)).map(part);
    const state = { status: 'completed', input, output: text, title: '', metadata: {}, time };
    return { type: 'tool', tool: name, callID: id, state: attachments.length > 0 ? { ...state, attachments } : state };
  }

  #file(part: MediaPart, id: string): readonly Json[] {
    return orLoss(fileOf(part), id, onLossOf(this.#context.losses));
  }

  #partOf(messageID: string, created: number): (fields: Json) => Json {
    const { sessionId: sessionID } = this.#context;
    return (fields) => ({ id: this.#ids.part(created), sessionID, messageID, ...fields });
  }

  #time(at: string): number {
    this.#updated = this.#times.next(at);
    return this.#updated;
  }
}

/** OpenCode sends images and PDFs to the model, and leaves other files out. */
function fileOf(part: MediaPart): Json | Unsendable {
  if (part.type !== 'image' && part.mediaType !== 'application/pdf') {
    return refusedType(part, 'OpenCode takes images and application/pdf');
  }
  const media = webMedia(part);
  if (media instanceof Unsendable) return media;
  const { filename, mediaType: mime } = part;
  return { type: 'file', mime, url: mediaUrl(part) ?? '', ...(filename !== undefined && { filename }) };
}

function modelOf({ model, losses }: WriterContext): { readonly providerID: string; readonly modelID: string } {
  if (model === undefined) {
    losses.add('model', 'OpenCode needs one that is configured: pass the option model, or add -m to its command', '');
  }
  const [, providerID = NO_PROVIDER, modelID = NO_PROVIDER] = /^([^/]+)\/(.+)$/.exec(model ?? '') ?? [];
  return { providerID, modelID };
}

function titleOf(turns: readonly HandedTurn[]): string {
  const content = turns.flatMap((turn) => (turn.kind === 'prompt' ? turn.content : []));
  const text = content.find((part) => part.type === 'text')?.text ?? '';
  const [line = ''] = text
    .trim()
    .slice(0, 4 * MAX_TITLE)
    .split('\n', 1);
  return Array.from(line).slice(0, MAX_TITLE).join('').toWellFormed() || 'Handed over';
}

/**
 * Ids as OpenCode makes them: a prefix, twelve hex digits of a time in milliseconds and a counter, fourteen random characters. The time
 * keeps its lower 36 bits, so ids sort by time within about two years. OpenCode compares the id of a new prompt with those of earlier
 * messages: an id of an earlier period could sort after it, so times before the present period are moved to its beginning.
 */

const PERIOD = 2 ** 36;
const COUNTERS = 0x1000;
const DIGITS = 12;
const RANDOM = 14;

/** Makes ids that sort in the order in which they are made. */
class OpenCodeIds {
  readonly #newId: () => string;
  readonly #periodStart: number;
  /** The newest value: milliseconds and a counter. */
  #latest = 0;

  constructor(at: number, newId: () => string) {
    this.#newId = newId;
    this.#periodStart = Math.floor(at / PERIOD) * PERIOD;
  }

  message(time: number): string {
    return `msg_${this.#next(time)}`;
  }

  part(time: number): string {
    return `prt_${this.#next(time)}`;
  }

  #next(time: number): string {
    const value = Math.max((time - this.#periodStart) * COUNTERS + 1, this.#latest + 1);
    this.#latest = value;
    return hex(value) + random(this.#newId());
  }
}

/** The id of a session: newer ones sort first. */
function openCodeSessionId(at: number, uuid: string): string {
  const value = (Math.floor(at) % PERIOD) * COUNTERS;
  return `ses_${hex(PERIOD * COUNTERS - 1 - value)}${random(uuid)}`;
}

function hex(value: number): string {
  return value.toString(16).padStart(DIGITS, '0');
}

/** The random digits of a UUID. */
function random(uuid: string): string {
  return uuid.replaceAll('-', '').slice(-RANDOM);
}
