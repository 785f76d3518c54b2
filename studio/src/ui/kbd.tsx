/** The keys of a command, one after the other. */
export function Kbd({ keys }: { readonly keys: string }) {
  return (
    <span className="inline-flex gap-0.5">
      {keys.split(' ').map((key) => (
        <kbd
          key={key}
          className="min-w-4.5 rounded border border-line bg-panel px-1 text-center font-sans text-xs text-muted"
        >
          {NAMES[key] ?? key}
        </kbd>
      ))}
    </span>
  );
}

const NAMES: Readonly<Record<string, string>> = { Enter: '↵', Escape: 'Esc', ArrowDown: '↓', ArrowUp: '↑' };
