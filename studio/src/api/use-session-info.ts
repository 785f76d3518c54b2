import type { AgentProcess } from 'holdfast/server';
import { useEffect, useState } from 'react';
import type { SessionInfo } from '../sessions/session-facts.ts';
import { sessionPath } from './server.ts';
import { type Reading, useRead } from './use-read.ts';

/** What `GET /sessions/:id` returns. */
export interface SessionDetails {
  readonly id: string;
  readonly seq: number;
  readonly summary: Omit<SessionInfo, 'id' | 'seq' | 'updatedAt' | 'lease'>;
  readonly lease?: NonNullable<SessionInfo['lease']>;
  /** Oldest first; absent unless the server starts processes. */
  readonly processes?: readonly AgentProcess[];
  readonly runner?: { readonly error?: { readonly code: string; readonly message: string } };
}

const SETTLE_MS = 250;
const REFRESH_MS = 3000;

/** A session's summary, read again when its conversation has moved to another cursor. */
export function useSessionInfo(id: string, cursor?: string): Reading<SessionDetails> {
  const settled = useSettled(cursor);
  return useRead<SessionDetails>(sessionPath(id), { version: settled, refreshMs: REFRESH_MS });
}

/** A value once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
