/**
 * A model of the inbox (D61), checked against a log and against the records of the participants outside of it. It is independent of the
 * fold: a queue of inputs, and the open evaluation of the main conversation.
 */
import { isDeepStrictEqual } from 'node:util';
import type { InputMode } from '../../src/core/log/events.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import {
  type AnySession,
  type ConversationMessage,
  type InputContent,
  openSession,
  type SessionEvent,
  type Store,
  type SuspendReason,
} from '../../src/index.ts';

/** A participant's record outside the log. */
export type Note =
  | { readonly note: 'sent'; readonly id: string; readonly content: InputContent; readonly seq: number }
  | { readonly note: 'withdrawn'; readonly id: string; readonly answer: boolean }
  | { readonly note: 'effect'; readonly call: string }
  | { readonly note: 'request'; readonly violations: number };

/** The event fields that the model reads. */
interface Fields {
  readonly inputId: string;
  readonly mode: InputMode;
  readonly content: InputContent;
  readonly evaluationId: string;
  readonly continues?: string;
  readonly by?: string;
  readonly message: ConversationMessage;
  readonly turn: number;
  readonly callId: string;
  readonly attempt: number;
  readonly how: object;
  readonly reason: SuspendReason;
  readonly after: number;
}

interface Queued {
  readonly id: string;
  readonly mode: InputMode;
  readonly seq: number;
}

interface Conversation {
  readonly id: string;
  readonly startedSeq: number;
  readonly continues: string | undefined;
  status: 'running' | 'suspended' | 'completed' | 'failed' | 'superseded';
  reason?: SuspendReason;
  stoppedSeq?: number;
  abandoned?: true;
  /** Calls without a result. */
  readonly open: Set<string>;
}

/** The state of the inbox after the events before some position. */
class InboxModel {
  readonly problems: string[] = [];
  readonly ends = new Map<string, 'placed' | 'withdrawn'>();
  readonly sent = new Map<string, { readonly seq: number; readonly content: InputContent }>();
  readonly placed = new Map<string, ConversationMessage>();
  readonly starts: string[] = [];
  readonly reruns = new Set<string>();
  queue: Queued[] = [];
  readonly #all = new Map<string, Conversation>();
  #newest: Conversation | undefined;
  #begins: string | undefined;

  apply(event: SessionEvent): void {
    const { seq } = event;
    const e = event as unknown as Fields;
    const about = this.#all.get(e.evaluationId ?? e.message?.evaluationId);
    switch (event.type) {
      case 'input/queued':
        if (this.sent.has(e.inputId)) this.#wrong(event, 'is queued twice');
        this.sent.set(e.inputId, { seq, content: e.content });
        this.queue.push({ id: e.inputId, mode: e.mode, seq });
        break;
      case 'input/withdrawn':
        this.#take(event, e.inputId, 'withdrawn');
        break;
      case 'evaluation/started':
        this.#start(event, { id: e.evaluationId, continues: e.continues });
        break;
      case 'message/recorded':
        this.#record(event, e.message, e.inputId, about);
        break;
      case 'tool/started': {
        if (about?.status === 'superseded') this.#wrong(event, 'starts a call of a superseded evaluation');
        this.starts.push(`${e.evaluationId}/${e.turn}/${e.callId}#${e.attempt}`);
        break;
      }
      case 'tool/settled':
        if ('rerun' in e.how) this.reruns.add(`${e.evaluationId}/${e.turn}/${e.callId}#${e.attempt}`);
        break;
      case 'evaluation/cancel-requested':
        if (!about) break;
        about.stoppedSeq = seq;
        if (about.status === 'suspended') about.reason = 'CANCELLED';
        break;
      case 'evaluation/suspended':
        if (!about || !isOpen(about)) break;
        about.status = 'suspended';
        about.reason = about.stoppedSeq === undefined ? e.reason : 'CANCELLED';
        if (e.reason === 'CANCELLED') about.stoppedSeq ??= seq;
        break;
      case 'evaluation/resumed':
        if (!about || !isOpen(about)) break;
        about.status = 'running';
        if ((about.stoppedSeq ?? 0) <= e.after) delete about.stoppedSeq;
        break;
      case 'evaluation/completed':
      case 'evaluation/failed':
        if (about && isOpen(about)) about.status = event.type === 'evaluation/failed' ? 'failed' : 'completed';
        break;
      case 'evaluation/superseded':
        this.#supersede(event, about, e.by);
        break;
    }
  }

  /** Removes an input from the queue: by a message or by a withdrawal, once. */
  #take(event: SessionEvent, id: string, end: 'placed' | 'withdrawn'): Queued | undefined {
    const item = this.queue.find((one) => one.id === id);
    if (!item) this.#wrong(event, `${id} is ${end}, and it is not queued (${this.ends.get(id) ?? 'never sent'})`);
    this.queue = this.queue.filter((one) => one !== item);
    this.ends.set(id, end);
    return item;
  }

  #start(event: SessionEvent, { id, continues }: Pick<Conversation, 'id' | 'continues'>): void {
    const before = this.#newest;
    if (before && (isOpen(before) || before.status === 'failed')) {
      this.#wrong(event, `begins beside ${before.id}, which is ${before.status}`);
    }
    let end = before;
    while (end?.abandoned) end = end.continues === undefined ? undefined : this.#all.get(end.continues);
    if (continues !== end?.id) this.#wrong(event, `continues ${continues} instead of ${end?.id}`);
    this.#newest = { id, continues, startedSeq: event.seq, status: 'running', open: new Set() };
    this.#all.set(id, this.#newest);
    this.#begins = id;
  }

  #record(
    event: SessionEvent,
    message: ConversationMessage,
    inputId: string | undefined,
    about: Conversation | undefined,
  ): void {
    if (!about) {
      this.#wrong(event, 'is of an evaluation that was not started');
      return;
    }
    if (message.role === 'assistant') {
      if (about.status === 'superseded') this.#wrong(event, 'is a response of a superseded evaluation');
      for (const { callId } of message.toolCalls ?? []) about.open.add(`${message.turn}/${callId}`);
    }
    if (message.role === 'tool' && !about.open.delete(`${message.turn}/${message.toolCallId}`)) {
      this.#wrong(event, `is a second result of ${message.toolCallId}`);
    }
    if (message.role !== 'user') return;
    if (inputId === undefined) {
      this.#wrong(event, 'is a user message without an input');
      return;
    }
    const [head] = this.queue;
    const item = this.#take(event, inputId, 'placed');
    this.placed.set(inputId, message);
    if (this.#begins === about.id) {
      this.#begins = undefined;
      if (item !== head) this.#wrong(event, `begins with ${inputId}, and ${head?.id} was sent before`);
    } else if (item && (item.mode !== 'steer' || item.seq < about.startedSeq || about !== this.#newest)) {
      this.#wrong(event, `${inputId} (${item.mode}) joins an evaluation that is not its own`);
    }
    if (about.open.size > 0) this.#wrong(event, `${inputId} is placed between a call and its result`);
  }

  #supersede(event: SessionEvent, about: Conversation | undefined, by: string | undefined): void {
    if (!about || !(isOpen(about) || (about.status === 'failed' && by === undefined))) return;
    if (by === undefined) about.abandoned = true;
    else {
      const isStopped = about.status === 'suspended' && about.reason === 'CANCELLED';
      const isNew = this.queue.some(({ seq }) => seq > (about.stoppedSeq ?? Number.POSITIVE_INFINITY));
      if (!isStopped || !isNew)
        this.#wrong(event, `supersedes ${about.id}, which is ${about.status} (${about.reason})`);
      if (about.open.size > 0) this.#wrong(event, `supersedes ${about.id} with open calls: ${[...about.open]}`);
    }
    about.status = 'superseded';
  }

  #wrong({ seq, type }: SessionEvent, why: string): void {
    this.problems.push(`${type} at ${seq} ${why}`);
  }
}

function isOpen({ status }: Conversation): boolean {
  return status === 'running' || status === 'suspended';
}

/** All violations of the model by the log or the participants; empty if there are none. */
export async function problemsOf(
  session: AnySession,
  notes: readonly Note[],
  options: { readonly isOver: boolean },
): Promise<readonly string[]> {
  const model = new InboxModel();
  for await (const event of session.events()) model.apply(event);
  const { problems } = model;
  for (const [id, message] of model.placed) {
    const sent = { content: model.sent.get(id)?.content ?? [] };
    const [[placed], [queued]] = await Promise.all([
      session.resolve([message]),
      session.resolve([{ ...message, ...sent } as ConversationMessage]),
    ]);
    if (!isDeepStrictEqual(placed?.content, queued?.content)) problems.push(`${id} was placed with another text`);
  }
  for (const note of notes) {
    if (note.note === 'sent') {
      const { id, content, seq } = note;
      const recorded = model.sent.get(id);
      const [whole] = await session.resolve([{ role: 'user', content: recorded?.content ?? [] } as never]);
      if (recorded?.seq !== seq) problems.push(`${id} was sent at ${seq}, and the log has it at ${recorded?.seq}`);
      if (!isDeepStrictEqual(whole?.content, content)) problems.push(`the log has another text of ${id}`);
      if (options.isOver && !model.ends.has(id)) problems.push(`${id} was sent and is neither placed nor withdrawn`);
    } else if (note.note === 'withdrawn') {
      const end = note.answer ? 'withdrawn' : 'placed';
      if (model.ends.get(note.id) !== end) problems.push(`withdraw(${note.id}) returned ${note.answer}: not ${end}`);
    } else if (note.note === 'request' && note.violations > 0) {
      problems.push(`a request has ${note.violations} violations of coherence`);
    }
  }
  const effects = notes.flatMap((note) => (note.note === 'effect' ? [note.call] : []));
  for (const [what, list] of Object.entries({ effects, starts: model.starts })) {
    const twice = list.filter((one, i) => list.indexOf(one) !== i);
    if (twice.length > 0) problems.push(`${what} more than once: ${twice}`);
  }
  for (const one of effects) if (!model.starts.includes(one)) problems.push(`an effect without a start: ${one}`);
  for (const one of model.starts) {
    const [call = '', attempt] = one.split('#');
    const before = `${call}#${Number(attempt) - 1}`;
    if (Number(attempt) > 1 && !model.reruns.has(before)) {
      problems.push(`${one} was started again, and no one allowed it`);
    }
  }
  return problems;
}

/** Reopens the session as a new process would. */
export function reopened(store: Store, id: string): Promise<AnySession> {
  return openSession({ store, id });
}

/** The number of coherence rules that a request breaks (I4). */
export function violationsIn(messages: readonly ConversationMessage[]): number {
  return checkCoherence(messages).violations.length;
}
