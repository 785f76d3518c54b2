import { useSyncExternalStore } from 'react';
import { ago } from './format.ts';

/** One timer for every time on the page. */
const listeners = new Set<() => void>();
let minute = Date.now();
setInterval(() => {
  minute = Date.now();
  for (const listener of listeners) listener();
}, 20_000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The current time, every 20 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => minute);
}

/** How long ago something was; the exact time is its title. */
export function Ago({ at, className = '' }: { readonly at: string; readonly className?: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className={`whitespace-nowrap tabular-nums ${className}`}>
      {ago(at, now)}
    </time>
  );
}
