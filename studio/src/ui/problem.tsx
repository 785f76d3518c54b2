import type { ReactNode } from 'react';

/** A sentence that says what went wrong, and what to do about it. */
export function Problem({ children, action }: { readonly children: ReactNode; readonly action?: ReactNode }) {
  return (
    <div role="alert" className="flex items-center gap-3 border-b border-line bg-fails-ground px-4 py-1.5 text-fails">
      <span className="min-w-0 flex-1 break-words">{children}</span>
      {action}
    </div>
  );
}

/** What happens to every request, in words for people: those of the server are for programs. */
const SENTENCES: Readonly<Record<string, string>> = {
  UNREACHABLE: 'The server does not respond; is it still running?',
  SESSION_NOT_FOUND: 'There is no such session: it was deleted, or the address is wrong.',
};

/** An error as a sentence. */
export function sentence(error: Error): string {
  const { message, code } = error as Error & { readonly code?: unknown };
  const known = typeof code === 'string' && Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined;
  if (known !== undefined) return known;
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
