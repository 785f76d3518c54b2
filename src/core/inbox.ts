import type { InputContent, InputMode, InputQueued, InputWithdrawn, MessageRecorded } from './events.ts';
import { KeyedList } from './keyed-list.ts';

/**
 * What was sent to a session, folded from the log (D61). An input is placed by the message that it becomes: exactly once, in the
 * append that acts on it.
 *
 *     queued ──▶ placed       a message names it
 *        └─────▶ withdrawn    before it was placed
 */
export type InputStatus = 'queued' | 'placed' | 'withdrawn';

/** One input and what became of it. */
export interface InboxItem {
  readonly id: string;
  /** The position of its `input/queued` event. */
  readonly seq: number;
  readonly at: string;
  readonly mode: InputMode;
  readonly by?: string;
  readonly status: InputStatus;
  /** What it says. Absent once it is placed: its message says it. */
  readonly content?: InputContent;
  /** The message that it became. */
  readonly placed?: { readonly evaluationId: string; readonly sequence: number };
}

/** Every input of a session by id, and which of them are queued, in the order of sending. */
export interface Inbox {
  readonly items: KeyedList<InboxItem>;
  readonly queued: readonly string[];
}

/** The inbox of these items. */
export function inboxOf(items: Iterable<InboxItem>): Inbox {
  const all = KeyedList.from(items, ({ id }) => id);
  return { items: all, queued: [...all].filter(({ status }) => status === 'queued').map(({ id }) => id) };
}

/** The same input again changes nothing. */
export function queueInput(inbox: Inbox, event: InputQueued): Inbox {
  const { seq, at, inputId: id, mode, content, by } = event;
  if (inbox.items.has(id)) return inbox;
  const item: InboxItem = { id, seq, at, mode, ...(by !== undefined && { by }), status: 'queued', content };
  return { items: inbox.items.put(item), queued: [...inbox.queued, id] };
}

export function withdrawInput(inbox: Inbox, { inputId }: InputWithdrawn): Inbox {
  const item = inbox.items.get(inputId);
  if (item?.status !== 'queued') return inbox;
  return settled(inbox, { ...item, status: 'withdrawn' });
}

/** Takes the input of a message out of the queue. */
export function placeInput(inbox: Inbox, { message, inputId }: Pick<MessageRecorded, 'message' | 'inputId'>): Inbox {
  const item = inputId === undefined ? undefined : inbox.items.get(inputId);
  if (item?.status !== 'queued') return inbox;
  const { content: _, ...rest } = item;
  const { evaluationId, sequence } = message;
  return settled(inbox, { ...rest, status: 'placed', placed: { evaluationId, sequence } });
}

function settled(inbox: Inbox, item: InboxItem): Inbox {
  return { items: inbox.items.put(item), queued: inbox.queued.filter((id) => id !== item.id) };
}

/** What a copy of a session begins with: its queued inputs are the original's to answer. */
export function withoutQueued(inbox: Inbox): Inbox {
  return inbox.queued.length === 0 ? inbox : inboxOf([...inbox.items].filter(({ status }) => status !== 'queued'));
}

/** An input that is queued. */
export type QueuedItem = InboxItem & { readonly content: InputContent };

/** The queued input at this place in the order of sending; -1 is the newest. */
export function queuedAt({ items, queued }: Inbox, place: number): QueuedItem | undefined {
  const id = queued.at(place);
  return id === undefined ? undefined : (items.get(id) as QueuedItem | undefined);
}

/** The queued inputs that were sent after a position, in the order of sending. Costs those, however many are queued. */
export function queuedAfter(inbox: Inbox, seq: number): readonly QueuedItem[] {
  const found: QueuedItem[] = [];
  for (let place = inbox.queued.length - 1; place >= 0; place--) {
    const item = queuedAt(inbox, place);
    if (!item || item.seq <= seq) break;
    found.push(item);
  }
  return found.reverse();
}
