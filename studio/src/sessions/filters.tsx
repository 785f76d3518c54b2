import { setQuery } from '../shell/router.ts';
import { type SessionInfo, SOURCES, sourceOf } from './session-facts.ts';

/** Which sessions are listed; empty means all. They are part of the address. */
export interface SessionFilters {
  readonly source: string;
  readonly status: string;
}

const STATUSES = { running: 'Running', suspended: 'Waiting', failed: 'Failed', completed: 'Done' } as const;

export function readFilters(query: URLSearchParams): SessionFilters {
  return { source: query.get('source') ?? '', status: query.get('status') ?? '' };
}

/** The part of the filters that the server applies. */
export function serverFilter({ status }: SessionFilters): { readonly status?: keyof typeof STATUSES } {
  return Object.hasOwn(STATUSES, status) ? { status: status as keyof typeof STATUSES } : {};
}

export function matchesFilters(session: SessionInfo, { source }: SessionFilters): boolean {
  return source === '' || sourceOf(session) === source;
}

export function Filters({ filters }: { readonly filters: SessionFilters }) {
  return (
    <div className="flex gap-2">
      <Choice name="source" label="Source" value={filters.source} options={SOURCES.map((name) => [name, name])} />
      <Choice name="status" label="Status" value={filters.status} options={Object.entries(STATUSES)} />
    </div>
  );
}

function Choice(props: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
}) {
  const { name, label, value, options } = props;
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ target }) => setQuery({ [name]: target.value })}
      className={`h-7 rounded-md border border-line bg-ground px-1.5 ${value === '' ? 'text-muted' : 'text-ink'}`}
    >
      <option value="">{label}: all</option>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}
