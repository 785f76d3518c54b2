import { isBuiltInEvent, type SessionEvent } from '../core/events.ts';

/** The contents that a recorded message names instead of carrying them (D58). */
export function contentReferences(event: SessionEvent): readonly string[] {
  if (!isBuiltInEvent(event) || event.type !== 'message/recorded') return [];
  const content: unknown = event.message?.content;
  if (!Array.isArray(content)) return [];
  return content
    .map((part: { readonly data?: unknown } | null) => part?.data)
    .filter((data): data is string => typeof data === 'string' && data.startsWith('sha256:'));
}
