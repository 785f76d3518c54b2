import type { RequestTokens } from '../../../src/history/inspect/request-rows.ts';
import { tokens as shown } from './cache-sentence.ts';

const REGIONS = [
  ['system', 'instructions', 'fill-muted', 'bg-muted'],
  ['user', 'user', 'fill-accent', 'bg-accent'],
  ['assistant', 'responses', 'fill-blue', 'bg-blue'],
  ['tool', 'results', 'fill-strong-line', 'bg-strong-line'],
  ['added', 'summaries', 'fill-violet', 'bg-violet'],
] as const;

/** What a request consists of, as one bar and as figures. */
export function RegionBar({ tokens }: { readonly tokens: RequestTokens }) {
  const parts = REGIONS.filter(([name]) => tokens[name] > 0);
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, [name]) => sum + tokens[name], 0));
  const total = Math.max(1, tokens.total);
  return (
    <div>
      <svg aria-hidden="true" className="block h-2 w-full max-w-3xl" viewBox="0 0 1000 8" preserveAspectRatio="none">
        {parts.map(([name, , fill], i) => (
          <rect
            key={name}
            x={((starts[i] ?? 0) / total) * 1000}
            width={(tokens[name] / total) * 1000}
            height="8"
            className={fill}
          />
        ))}
      </svg>
      <p className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-xs text-muted tabular-nums">
        <span className="text-ink">about {shown(tokens.total)} tokens</span>
        {parts.map(([name, label, , ground]) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <span aria-hidden="true" className={`size-2 rounded-xs ${ground}`} /> {shown(tokens[name])} {label}
          </span>
        ))}
        {tokens.leftOut > 0 && <span>{shown(tokens.leftOut)} of the record left out</span>}
      </p>
    </div>
  );
}
