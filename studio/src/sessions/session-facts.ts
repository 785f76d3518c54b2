/** What a listing says about a session, in words. */
import { AGENT_NAMES } from 'holdfast/conversation';
import type { Sessions } from '../../../src/react/use-sessions.ts';
import type { Activity } from '../ui/status.tsx';

/** A session as a listing has it. */
export type SessionInfo = Sessions['sessions'][number];

/** The name of every agent whose sessions may be listed. */
export const SOURCES: readonly string[] = ['Holdfast', ...Object.values(AGENT_NAMES)];

/** Where the conversation took place. */
export function sourceOf({ source }: Pick<SessionInfo, 'source'>): string {
  if (source === undefined) return 'Holdfast';
  const names: Readonly<Record<string, string>> = AGENT_NAMES;
  return names[source.architecture] ?? source.architecture;
}

/** Its title, or its id if it has none. */
export function titleOf({ title, id }: Pick<SessionInfo, 'title' | 'id'>): string {
  return title?.trim() || id;
}

/** The last part of the directory that the agent worked in. */
export function projectOf({ metadata }: Pick<SessionInfo, 'metadata'>): string {
  const place = metadata.project ?? metadata.cwd;
  return typeof place === 'string' ? (place.split(/[/\\]/).findLast(Boolean) ?? '') : '';
}

/** What the session does now. `now` decides whether the process that runs it still lives. */
export function activityOf(session: Omit<SessionInfo, 'id' | 'seq' | 'updatedAt'>, now: number): Activity {
  const { status, source, work, lease, queued = 0, cancelRequestSeq, stoppedSeq } = session;
  if (source !== undefined) return 'imported';
  if (status === 'running') return lease && lease.expiresAt < now ? 'interrupted' : 'running';
  if (work !== undefined) return 'queued';
  if (status === 'suspended') return (cancelRequestSeq ?? stoppedSeq) === undefined ? 'waiting' : 'stopped';
  if (status === 'failed') return 'failed';
  if (status === undefined) return queued > 0 ? 'queued' : 'empty';
  return 'done';
}
