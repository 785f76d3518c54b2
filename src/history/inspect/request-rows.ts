import type { ConversationMessage } from '../../core/log/messages.ts';
import { NO_RESULT } from '../../formats/placeholders.ts';
import { estimateTokens } from '../estimate-tokens.ts';
import { TokenCounter } from '../token-counts.ts';

/** A request beside the record that it was chosen from, message by message. */

/**
 * What became of a message: sent as it is, shortened (also to a placeholder), dropped, dropped and covered by a summary, added by a manager,
 * or put in by a repair because a provider refuses the request without it.
 */
export type RequestFate = 'whole' | 'shortened' | 'dropped' | 'summarised' | 'added' | 'repaired';

/** One message of the record, of the request, or of both. */
export interface RequestRow {
  readonly messageId: string;
  readonly role: ConversationMessage['role'];
  readonly fate: RequestFate;
  /** Estimated tokens in the record; 0 for what is not in it. */
  readonly recordedTokens: number;
  /** Estimated tokens in the request; 0 for what was not sent. */
  readonly sentTokens: number;
  readonly recorded?: ConversationMessage;
  /** What was sent; absent when it was sent as it is recorded, or not at all. */
  readonly sent?: ConversationMessage;
}

/** Estimated tokens of a request by region, and of what was left out. */
export interface RequestTokens {
  readonly system: number;
  readonly user: number;
  readonly assistant: number;
  readonly tool: number;
  /** What history managers added: summaries. */
  readonly added: number;
  readonly total: number;
  /** What the record has and the request does not, whole messages and shortened parts. */
  readonly leftOut: number;
}

/** Compares what was sent with the record, in the order of the conversation. */
export function requestRows(
  recorded: readonly ConversationMessage[],
  sent: readonly ConversationMessage[],
): readonly RequestRow[] {
  const counter = TokenCounter.of(estimateTokens);
  const positions = new Map(recorded.map((message, position) => [message.id, position]));
  const rows: RequestRow[] = [];
  const byRecorded: (RequestRow | undefined)[] = recorded.map(() => undefined);
  const before = new Map<number, RequestRow[]>();
  // What is not in the record stands before the next message of the request that is.
  let next = recorded.length;
  for (let i = sent.length - 1; i >= 0; i--) {
    const message = sent[i] as ConversationMessage;
    const position = positions.get(message.id);
    const known = position === undefined ? undefined : recorded[position];
    const tokens = counter.count(message);
    if (position !== undefined && known && !byRecorded[position]) {
      next = position;
      const isWhole = message === known || JSON.stringify(message) === JSON.stringify(known);
      const { id: messageId, role } = known;
      const both = { messageId, role, recordedTokens: counter.count(known), sentTokens: tokens, recorded: known };
      byRecorded[position] = isWhole
        ? { ...both, fate: 'whole' }
        : { ...both, fate: changedTo(message), sent: message };
    } else {
      const fate = isPlaceholder(message) ? 'repaired' : 'added';
      const { id: messageId, role } = message;
      const row: RequestRow = { messageId, role, fate, recordedTokens: 0, sentTokens: tokens, sent: message };
      before.set(next, [row, ...(before.get(next) ?? [])]);
    }
  }
  let gap: number[] = [];
  let isCovered = false;
  const closeGap = (): void => {
    if (isCovered) for (const at of gap) rows[at] = { ...(rows[at] as RequestRow), fate: 'summarised' };
    gap = [];
    isCovered = false;
  };
  for (let position = 0; position <= recorded.length; position++) {
    for (const row of before.get(position) ?? []) {
      isCovered ||= row.fate === 'added';
      rows.push(row);
    }
    const message = recorded[position];
    if (!message) break;
    const row = byRecorded[position];
    if (row) {
      closeGap();
      rows.push(row);
      continue;
    }
    gap.push(rows.length);
    const { id: messageId, role } = message;
    rows.push({
      messageId,
      role,
      fate: 'dropped',
      recordedTokens: counter.count(message),
      sentTokens: 0,
      recorded: message,
    });
  }
  closeGap();
  return rows;
}

function changedTo(message: ConversationMessage): RequestFate {
  return isPlaceholder(message) ? 'repaired' : 'shortened';
}

/** Whether a repair wrote the message: a result for a call that has none. */
function isPlaceholder({ role, content }: ConversationMessage): boolean {
  const [part] = content;
  return role === 'tool' && content.length === 1 && part?.type === 'text' && part.text === NO_RESULT;
}

/** Adds up the tokens of a request by region. */
export function requestTokens(rows: readonly RequestRow[]): RequestTokens {
  const tokens = { system: 0, user: 0, assistant: 0, tool: 0, added: 0, total: 0, leftOut: 0 };
  for (const { role, fate, sentTokens, recordedTokens } of rows) {
    tokens[fate === 'added' ? 'added' : role] += sentTokens;
    tokens.total += sentTokens;
    tokens.leftOut += Math.max(0, recordedTokens - sentTokens);
  }
  return tokens;
}
