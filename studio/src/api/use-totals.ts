import type { Sessions } from '../../../src/react/use-sessions.ts';
import { useRead } from './use-read.ts';

/** What a session has cost. */
export interface SessionTotals {
  /** Responses of its models. */
  readonly turns: number;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd?: number };
}

const NONE: Readonly<Record<string, SessionTotals>> = {};
const MAX = 100;
/** Servers refuse longer addresses. */
const MAX_LENGTH = 8000;

/** The totals of the first sessions of a list; read again when one of them has grown. */
export function useTotals(sessions: Sessions['sessions']): Readonly<Record<string, SessionTotals>> {
  const first = sessions.slice(0, MAX);
  const query = first.map(({ id }) => `session=${encodeURIComponent(id)}`).reduce((all, one) => joined(all, one), '');
  const version = first.map(({ seq }) => seq).join(' ');
  const { data } = useRead<{ readonly totals: Readonly<Record<string, SessionTotals>> }>(
    query === '' ? undefined : `totals?${query}`,
    { version },
  );
  return data?.totals ?? NONE;
}

function joined(all: string, one: string): string {
  if (all === '') return one;
  return all.length + one.length > MAX_LENGTH ? all : `${all}&${one}`;
}
