/** What a person can decide about something that waits: the acting routes of its session. */
import type { RaisedBudget } from 'holdfast';
import type { InboxItem } from 'holdfast/server';
import { actJson } from '../api/server.ts';

type CallRef = Extract<InboxItem, { readonly kind: 'approval' }>['call'];

/** A limit that is raised; another one stays as it is. */
export interface Raise {
  readonly budget?: RaisedBudget;
  readonly maxTurns?: number;
}

function post(sessionId: string, path: string, body: object): Promise<object> {
  return actJson(`sessions/${encodeURIComponent(sessionId)}/${path}`, body);
}

export function approve(sessionId: string, call: CallRef, edited: { readonly arguments?: unknown }): Promise<object> {
  return post(sessionId, 'calls/approve', { ...call, ...edited });
}

export function deny(sessionId: string, call: CallRef, reason: string): Promise<object> {
  return post(sessionId, 'calls/deny', { ...call, ...(reason !== '' && { reason }) });
}

export function settle(
  sessionId: string,
  call: CallRef,
  how: { readonly result: unknown; readonly isError?: boolean } | { readonly rerun: true },
): Promise<object> {
  return post(sessionId, 'calls/settle', { ...call, ...how });
}

export function resume(sessionId: string, raise: Raise = {}): Promise<object> {
  return post(sessionId, 'resume', raise);
}

export function abandon(sessionId: string): Promise<object> {
  return post(sessionId, 'abandon', {});
}
