import { KeyedList } from '../keyed-list.ts';
import type { InputContent, InputMode, InputQueued, InputWithdrawn, MessageRecorded } from '../log/events.ts';
import type { ConversationMessage } from '../log/messages.ts';

/**
 * The inputs sent to a session, folded from the log. An input is placed by recording it as a message: exactly once, in the append
 * that acts on it.
 *
 *     queued ──▶ placed       a message names it
 *        └─────▶ withdrawn    before it was placed
 */
export type InputStatus = 'queued' | 'placed' | 'withdrawn';

/** One input and its status. */
export interface SessionInput {
  readonly id: string;
  /** The position of its `input/queued` event. */
  readonly seq: number;
  readonly at: string;
  readonly mode: InputMode;
  /** The name of the agent that it is for. */
  readonly agent?: string;
  readonly by?: string;
  readonly status: InputStatus;
  /** Its content. Absent once it is placed, unless redaction has given its message another one: the message has it. */
  readonly content?: InputContent;
  /** The message that it became. */
  readonly placed?: { readonly evaluationId: string; readonly sequence: number };
}

/**
 * Every input of a session by id, in sending order. The queued ones are between `first` and `last`, both included; others may be between
 * them, too.
 */
export interface SessionInputs {
  readonly items: KeyedList<SessionInput>;
  readonly first: number;
  readonly last: number;
  /** The number of queued inputs. */
  readonly queued: number;
}

export function sessionInputs(items: Iterable<SessionInput>): SessionInputs {
  const all = KeyedList.from(items, ({ id }) => id);
  const queued = [...all].filter(({ status }) => status === 'queued').length;
  return narrowed({ items: all, first: 0, last: all.length - 1, queued });
}

/** Queueing the same input again changes nothing. */
export function queueInput(inbox: SessionInputs, event: InputQueued): SessionInputs {
  const { seq, at, inputId: id, mode, content, agent, by } = event;
  const named = { ...(agent !== undefined && { agent }), ...(by !== undefined && { by }) };
  const item: SessionInput = { id, seq, at, mode, status: 'queued', content, ...named };
  const items = inbox.items.add(item);
  if (items === inbox.items) return inbox;
  const last = inbox.items.length;
  const first = inbox.queued === 0 ? last : inbox.first;
  return { items, first, last, queued: inbox.queued + 1 };
}

export function withdrawInput(inbox: SessionInputs, { inputId }: InputWithdrawn): SessionInputs {
  const item = inbox.items.get(inputId);
  if (item?.status !== 'queued') return inbox;
  return settled(inbox, { ...item, status: 'withdrawn' });
}

/** Removes the input of a message from the queue. */
export function placeInput(
  inbox: SessionInputs,
  { message, inputId }: Pick<MessageRecorded, 'message' | 'inputId'>,
): SessionInputs {
  const item = inputId === undefined ? undefined : inbox.items.get(inputId);
  if (item?.status !== 'queued') return inbox;
  const { content, ...rest } = item;
  const { evaluationId, sequence } = message;
  // The same input sent again is compared with what was recorded for it, and not with what its message became.
  const isOther = JSON.stringify(content) !== JSON.stringify(message.content);
  const placed = { evaluationId, sequence };
  return settled(inbox, { ...rest, status: 'placed', placed, ...(content && isOther && { content }) });
}

/** Removes what an input holds beside its message, which was erased. */
export function eraseInput(inbox: SessionInputs, { evaluationId, sequence }: ConversationMessage): SessionInputs {
  let { items } = inbox;
  for (const item of inbox.items) {
    const { placed, content, ...rest } = item;
    const isErased = placed?.evaluationId === evaluationId && placed.sequence === sequence;
    if (isErased && content) items = items.put({ ...rest, placed });
  }
  return items === inbox.items ? inbox : { ...inbox, items };
}

function settled(inbox: SessionInputs, item: SessionInput): SessionInputs {
  return narrowed({ ...inbox, items: inbox.items.put(item), queued: inbox.queued - 1 });
}

/** Narrows the range to the first and last queued input. Each input is passed once at each end, in any order. */
function narrowed({ items, first, last, queued }: SessionInputs): SessionInputs {
  if (queued === 0) return { items, first: items.length, last: items.length - 1, queued };
  const isQueued = (index: number): boolean => items.items.at(index)?.status === 'queued';
  let from = first;
  let to = last;
  while (!isQueued(from)) from++;
  while (!isQueued(to)) to--;
  return { items, first: from, last: to, queued };
}

/** The inbox of a copied session: its queued inputs stay with the original session. */
export function withoutQueued(inbox: SessionInputs): SessionInputs {
  return inbox.queued === 0 ? inbox : sessionInputs([...inbox.items].filter(({ status }) => status !== 'queued'));
}

export type QueuedItem = SessionInput & { readonly content: InputContent };

/** The queued input that was sent first. */
export function firstQueued(inbox: SessionInputs): QueuedItem | undefined {
  return inbox.queued === 0 ? undefined : (inbox.items.items.at(inbox.first) as QueuedItem | undefined);
}

/** The queued input that was sent last. */
export function newestQueued(inbox: SessionInputs): QueuedItem | undefined {
  return inbox.queued === 0 ? undefined : (inbox.items.items.at(inbox.last) as QueuedItem | undefined);
}

/** The queued inputs that were sent after a position, in sending order. Costs the inputs since then, not those queued before. */
export function queuedAfter({ items, first, last, queued }: SessionInputs, seq: number): readonly QueuedItem[] {
  const found: QueuedItem[] = [];
  for (let index = last; queued > 0 && index >= first; index--) {
    const item = items.items.at(index);
    if (!item || item.seq <= seq) break;
    if (item.status === 'queued') found.push(item as QueuedItem);
  }
  return found.reverse();
}
