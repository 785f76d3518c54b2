/** What a session does, in one word and one colour. */
export type Activity =
  | 'running'
  | 'interrupted'
  | 'waiting'
  | 'stopped'
  | 'queued'
  | 'failed'
  | 'done'
  | 'imported'
  | 'empty';

const SHOWN: Readonly<Record<Activity, readonly [word: string, dot: string, text: string]>> = {
  running: ['Running', 'bg-accent', 'text-accent'],
  waiting: ['Waits for you', 'bg-waits', 'text-waits'],
  interrupted: ['Interrupted', 'bg-fails', 'text-fails'],
  stopped: ['Stopped', 'bg-strong-line', 'text-muted'],
  queued: ['Queued', 'bg-accent', 'text-accent'],
  failed: ['Failed', 'bg-fails', 'text-fails'],
  done: ['Done', 'bg-strong-line', 'text-muted'],
  imported: ['Recorded', 'bg-strong-line', 'text-muted'],
  empty: ['Empty', 'bg-strong-line', 'text-muted'],
};

/** A dot and a word. The dot of a running session breathes: it is live. */
export function Status({ activity, isDotOnly = false }: { readonly activity: Activity; readonly isDotOnly?: boolean }) {
  const [word, dot, text] = SHOWN[activity];
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${text}`}>
      <span className={`size-1.75 shrink-0 rounded-full ${dot} ${activity === 'running' ? 'animate-pulse' : ''}`} />
      <span className={isDotOnly ? 'sr-only' : ''}>{word}</span>
    </span>
  );
}
