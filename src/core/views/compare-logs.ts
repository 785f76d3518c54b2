import { canonicalJson } from '../canonical-json.ts';
import type { MessageRecorded, SessionEvent } from '../log/events.ts';
import { textOf } from '../log/messages.ts';
import type { Usage } from '../log/usage.ts';

/**
 * Two sessions side by side: how much of their logs is the same, and what each said after it, aligned.
 *
 *     shared ── shared ──┬── left  ── left
 *                        └── right ── right ── right
 */

/** One message of a session after the fork. */
export interface ComparedMessage {
  readonly seq: number;
  readonly messageId: string;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly turn: number;
  /** The start of its text. */
  readonly text: string;
  readonly length: number;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly model?: string;
  readonly usage?: Usage;
}

/** Messages of both sessions that stand beside each other; one of them may be absent. */
export interface ComparedRow {
  readonly left?: ComparedMessage;
  readonly right?: ComparedMessage;
  /** Both say the same. */
  readonly isSame: boolean;
}

/** The comparison of two logs. */
export interface LogComparison {
  /** The last seq up to which both logs have the same events; 0 when they share no beginning. */
  readonly sharedSeq: number;
  readonly rows: readonly ComparedRow[];
  /** How many messages of each were left out, the newest ones. */
  readonly omitted: { readonly left: number; readonly right: number };
}

const MAX_TEXT = 2000;
const MAX_MESSAGES = 500;

/** Whether two events at the same position are the same. A fork copies events as they are. */
export function isSameEvent(a: SessionEvent, b: SessionEvent): boolean {
  return a.seq === b.seq && a.type === b.type && a.at === b.at && canonicalJson(a) === canonicalJson(b);
}

/** Collects the messages of the main conversation of one log, after the shared beginning. */
export class ComparedLog {
  readonly messages: (ComparedMessage & { readonly key: string })[] = [];
  omitted = 0;

  push(event: SessionEvent): void {
    if (event.type !== 'message/recorded' || event.message.conversationId !== 'main') return;
    if (event.message.role === 'system') return;
    if (this.messages.length === MAX_MESSAGES) this.omitted++;
    else this.messages.push(messageOf(event));
  }
}

function messageOf({ seq, message, model, usage }: MessageRecorded): ComparedMessage & { readonly key: string } {
  const text = textOf(message);
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const shown = calls.map(({ name, arguments: given }) => ({
    name,
    arguments: given.slice(0, MAX_TEXT).toWellFormed(),
  }));
  const { role, content } = message;
  return {
    ...{ seq, messageId: message.id, role, turn: message.turn },
    ...{ text: text.slice(0, MAX_TEXT).toWellFormed(), length: text.length },
    ...(shown.length > 0 && { calls: shown }),
    ...(message.role === 'tool' && { toolName: message.toolName, isError: message.isError }),
    ...(model !== undefined && { model }),
    ...(usage && { usage }),
    key: canonicalJson([role, content, calls.map(({ name, arguments: given }) => [name, given])]),
  };
}

/** Aligns what two logs say after their shared beginning. Pure. */
export function alignLogs(left: ComparedLog, right: ComparedLog, sharedSeq: number): LogComparison {
  const rows: ComparedRow[] = [];
  let from = { left: 0, right: 0 };
  for (const to of [...commonPairs(left.messages, right.messages), undefined]) {
    const lefts = left.messages.slice(from.left, to?.left);
    const rights = right.messages.slice(from.right, to?.right);
    rows.push(...besideEachOther(lefts, rights));
    const both = to && { left: left.messages[to.left], right: right.messages[to.right] };
    if (to && both?.left && both.right) {
      rows.push({ left: shownOf(both.left), right: shownOf(both.right), isSame: true });
      from = { left: to.left + 1, right: to.right + 1 };
    }
  }
  return { sharedSeq, rows, omitted: { left: left.omitted, right: right.omitted } };
}

interface Pair {
  readonly left: number;
  readonly right: number;
}

type Keyed = ComparedMessage & { readonly key: string };

/** The longest sequence of equal messages in both lists. */
function commonPairs(left: readonly Keyed[], right: readonly Keyed[]): readonly Pair[] {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const isEqual = left[i]?.key === right[j]?.key;
      const below = lengths[(i + 1) * width + j] ?? 0;
      const after = lengths[i * width + j + 1] ?? 0;
      lengths[i * width + j] = isEqual ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, after);
    }
  }
  const pairs: Pair[] = [];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i]?.key === right[j]?.key) pairs.push({ left: i++, right: j++ });
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return pairs;
}

/** Different messages in order: those of the same role beside each other. */
function besideEachOther(left: readonly Keyed[], right: readonly Keyed[]): readonly ComparedRow[] {
  const rows: ComparedRow[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    const one = left[i];
    const other = right[j];
    if (one && other && one.role === other.role) {
      rows.push({ left: shownOf(one), right: shownOf(other), isSame: false });
      i++;
      j++;
    } else if (
      one &&
      (!other || right.slice(j).some(({ role }) => role === one.role) === false || isBehind(one, other))
    ) {
      rows.push({ left: shownOf(one), isSame: false });
      i++;
    } else if (other) {
      rows.push({ right: shownOf(other), isSame: false });
      j++;
    }
  }
  return rows;
}

/** Whether the left message is shown first: results belong to the response above them. */
function isBehind(left: ComparedMessage, right: ComparedMessage): boolean {
  return left.role === 'tool' || (right.role !== 'tool' && left.turn <= right.turn);
}

function shownOf({ key: _, ...message }: Keyed): ComparedMessage {
  return message;
}
