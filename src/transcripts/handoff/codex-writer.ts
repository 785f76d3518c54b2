/**
 * Writes a rollout of Codex, in the layout without ordinals. `response_item` lines are what the model gets, `event_msg` lines what lists
 * and views show. Codex skips a line that it cannot parse without a word, and takes the output of a skipped call with it.
 */
import type { MediaPart } from '../../core/log/messages.ts';
import { onLossOf } from '../../formats/losses.ts';
import { orLoss, refusedType, Unsendable, webMedia } from '../../formats/media.ts';
import { EMPTY_MESSAGE } from '../../formats/placeholders.ts';
import type { Json } from '../json-access.ts';
import type { HandedCall, HandedPart, HandedPrompt, HandedResponse, HandedTurn } from './handed-turns.ts';
import {
  isUuid,
  jsonLines,
  lineCount,
  Timeline,
  type TranscriptWriter,
  type WriterContext,
} from './transcript-writer.ts';

/** The version whose lines these are. */
const VERSION = '0.166.0';
const ORIGINATOR = 'codex_exec';
/** Codex sends the beginning and the end of a longer output: this many bytes of UTF-8 together. */
const MAX_OUTPUT_BYTES = 48_000;

export const codexWriter: TranscriptWriter = {
  accepts: isUuid,
  newSessionId: ({ at, newId }) => timedUuid(at, newId()),
  write(turns, context) {
    const rollout = new Rollout(turns, context);
    for (const turn of turns) rollout.add(turn);
    rollout.endTurn();
    return jsonLines(rollout.lines);
  },
};

class Rollout {
  readonly lines: Json[] = [];
  readonly #context: WriterContext;
  readonly #times: Timeline;
  #turns = 0;
  #isOpen = false;
  /** The last text of the open turn. */
  #lastText: string | null = null;

  constructor(turns: readonly HandedTurn[], context: WriterContext) {
    const { sessionId: id, cwd, at } = context;
    this.#context = context;
    const prompts = turns.filter(({ kind }) => kind === 'prompt').length;
    this.#times = new Timeline(lineCount(turns) + 2 * prompts, at);
    const timestamp = new Date(at).toISOString();
    const meta = { id, timestamp, cwd, originator: ORIGINATOR, cli_version: VERSION };
    this.lines.push({ timestamp, type: 'session_meta', payload: meta });
  }

  add(turn: HandedTurn): void {
    if (turn.kind === 'prompt') this.#addPrompt(turn);
    else this.#addResponse(turn);
  }

  endTurn(): void {
    if (!this.#isOpen) return;
    const turn_id = `handoff-${this.#turns}`;
    this.#event({ type: 'task_complete', turn_id, last_agent_message: this.#lastText });
    this.#isOpen = false;
  }

  #addPrompt({ at, content }: HandedPrompt): void {
    this.endTurn();
    this.#isOpen = true;
    this.#lastText = null;
    this.#event({ type: 'task_started', turn_id: `handoff-${++this.#turns}`, model_context_window: null });
    const sent = this.#parts(content, '');
    const parts: readonly Part[] = sent.length > 0 ? sent : [{ type: 'input_text', text: EMPTY_MESSAGE }];
    this.#item({ type: 'message', role: 'user', content: parts }, at);
    const message = parts.flatMap((part) => (part.type === 'input_text' ? [part.text] : [])).join('\n');
    const images = parts.flatMap((part) => (part.type === 'input_image' ? [part.image_url] : []));
    this.#event({ type: 'user_message', message, images, local_images: [], text_elements: [] });
  }

  #addResponse({ at, texts, calls }: HandedResponse): void {
    for (const text of texts) {
      this.#event({ type: 'agent_message', message: text }, at);
      this.#item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }, at);
      this.#lastText = text;
    }
    for (const { id, name, input } of calls) {
      this.#item({ type: 'function_call', name, arguments: JSON.stringify(input), call_id: id }, at);
    }
    for (const call of calls) this.#addOutput(call);
  }

  #addOutput({ id, at, content, isError }: HandedCall): void {
    const { losses } = this.#context;
    const parts = this.#parts(content, id);
    const [only] = parts;
    const isText = only === undefined || (parts.length === 1 && only.type === 'input_text');
    const output = isText ? (only?.text ?? '') : parts;
    const bytes = parts.reduce((sum, { text = '' }) => sum + utf8Length(text), 0);
    if (bytes > MAX_OUTPUT_BYTES) {
      losses.add('long result', `Codex sends its beginning and its end, ${MAX_OUTPUT_BYTES} bytes together`, id);
    }
    if (isError) losses.add('mark of a failed result', 'Codex has none; the text is the same', id);
    this.#item({ type: 'function_call_output', call_id: id, output }, at);
  }

  #parts(parts: readonly HandedPart[], id: string): readonly Part[] {
    return parts.flatMap((part): readonly Part[] =>
      part.type === 'text'
        ? [{ type: 'input_text', text: part.text }]
        : orLoss(imageOf(part), id, onLossOf(this.#context.losses)),
    );
  }

  #item(payload: Json, at?: string): void {
    this.lines.push({ timestamp: this.#times.nextText(at), type: 'response_item', payload });
  }

  #event(payload: Json, at?: string): void {
    this.lines.push({ timestamp: this.#times.nextText(at), type: 'event_msg', payload });
  }
}

type Part =
  | { readonly type: 'input_text'; readonly text: string; readonly image_url?: never }
  | { readonly type: 'input_image'; readonly image_url: string; readonly text?: never };

function imageOf(part: MediaPart): Part | Unsendable {
  if (part.type !== 'image') return refusedType(part, 'Codex takes images');
  const media = webMedia(part);
  if (media instanceof Unsendable) return media;
  const image_url = media.kind === 'url' ? media.url : `data:${media.mediaType};base64,${media.base64}`;
  return { type: 'input_image', image_url };
}

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Half of a pair of surrogates is half of four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** A UUID that begins with a time, as Codex names its sessions (version 7). */
function timedUuid(at: number, uuid: string): string {
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${uuid.slice(15)}`;
}

/** Where Codex stores a session, below its folder. The time is that of its start, in UTC. */
export function codexRolloutPath(sessionId: string, at: number): readonly string[] {
  const start = new Date(at).toISOString().slice(0, 19);
  const [year = '', month = '', day = ''] = start.slice(0, 10).split('-');
  return ['sessions', year, month, day, `rollout-${start.replaceAll(':', '-')}-${sessionId}.jsonl`];
}
