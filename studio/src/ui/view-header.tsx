import type { ReactNode } from 'react';

/** The line above a view: its heading, and what can be done there. */
export function ViewHeader({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <header className="flex min-h-11 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1.5">
      <h1 className="min-w-0 truncate font-semibold">{title}</h1>
      {children}
    </header>
  );
}
