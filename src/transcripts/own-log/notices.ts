/** Notices: the blocks of events that are neither messages nor calls. */

import type { NoticeBlock } from '../../conversation/blocks.ts';
import { present } from '../../conversation/same-value.ts';
import type { BuiltInEvent } from '../../core/log/events.ts';

type Noticed = Extract<
  BuiltInEvent,
  {
    readonly type:
      | `evaluation/${'cancel-requested' | 'failed' | 'superseded' | 'suspended'}`
      | `tool/${'approved' | 'denied' | 'settled'}`
      | `history/${'curated' | 'summarized'}`
      | `session/${'forked' | 'restored'}`
      | 'adapter/captured';
  }
>;

/** The notice of an event. Events that repeat within an evaluation share one notice, which is replaced. */
export function noticeOf(event: Noticed, conversationId: string, toolName: string): NoticeBlock {
  const base = { conversationId, timestamp: event.at, status: 'complete' } as const;
  const notice = (subtype: string, content: string, data?: unknown, id = `${subtype}:${event.seq}`): NoticeBlock => ({
    ...base,
    id,
    type: 'system',
    subtype,
    content,
    ...(data !== undefined && { data }),
  });
  switch (event.type) {
    case 'evaluation/suspended': {
      const { reason, pending } = event;
      // The notice is pending until the evaluation is resumed.
      return { ...notice('suspended', event.message, { reason, pending }), status: 'pending' };
    }
    case 'evaluation/cancel-requested': {
      const { by, reason, evaluationId } = event;
      const who = by === undefined ? '' : ` by ${by}`;
      const why = reason === undefined ? '' : `: ${reason}`;
      // The suspension shows the cancellation and its reason.
      return { ...notice('cancel-requested', `Cancel requested${who}${why}`, { evaluationId }), machinery: true };
    }
    case 'evaluation/failed':
      return { ...notice(event.error.code, event.error.message), type: 'error', id: `failed:${event.seq}` };
    case 'evaluation/superseded': {
      const by = event.by === undefined ? '' : ` by ${event.by}`;
      return notice('superseded', `Superseded${by}`, { evaluationId: event.evaluationId });
    }
    case 'tool/approved':
      return notice('approved', `Approved: ${toolName}`, evidenceOf(event));
    case 'tool/denied':
      return notice(
        'denied',
        ['Denied', toolName, ...(event.reason === undefined ? [] : [event.reason])].join(': '),
        evidenceOf(event),
      );
    case 'tool/settled': {
      const how = 'rerun' in event.how ? 'may run again' : 'its result was supplied';
      return notice('settled', `Settled: ${toolName}: ${how}`, evidenceOf(event));
    }
    case 'adapter/captured': {
      const { state, resumable, capturedAt, id, evaluationId } = event.snapshot;
      const content = `${state.adapterType}: ${resumable ? 'can be resumed' : 'cannot be resumed'}`;
      return {
        ...notice('adapter', content, { id, resumable, capturedAt }, `adapter:${evaluationId}`),
        machinery: true,
      };
    }
    case 'history/curated': {
      const { originalCount, curatedCount, strategy, estimatedTokens, prefixKept, repairs, turn, refused } = event;
      if (refused) {
        const { message, ...limit } = refused;
        const why = `Refused as too long: ${curatedCount} of ${originalCount} messages (${strategy}): ${message}`;
        return { ...notice('refused', why, { turn, estimatedTokens, ...limit }), machinery: true };
      }
      const content = `Sent ${curatedCount} of ${originalCount} messages (${strategy})`;
      const data = { turn, estimatedTokens, prefixKept, ...(repairs && { repairs }) };
      return { ...notice('history', content, data, `history:${event.evaluationId}`), machinery: true };
    }
    case 'history/summarized': {
      const id = `summary:${event.evaluationId}:${event.key}`;
      const cost = event.usage && { message: { id, usage: event.usage } };
      return { ...notice('summary', event.text), type: 'compaction', id, ...cost };
    }
    case 'session/forked':
      return notice('forked', `Forked from ${event.origin.sessionId} at ${event.origin.seq}`, event.origin);
    case 'session/restored':
      return notice('restored', `Restored: ${Object.keys(event.slices).join(', ')}`);
  }
}

/** The person who decided, with their note and edited arguments (D67); `undefined` when none of them is recorded. */
function evidenceOf(event: Extract<Noticed, { readonly type: `tool/${string}` }>): unknown {
  const { by } = event;
  const { note, arguments: edited } = event.type === 'tool/approved' ? event : {};
  if (by === undefined && note === undefined && edited === undefined) return undefined;
  return {
    ...present({ by, note, arguments: edited }),
  };
}
