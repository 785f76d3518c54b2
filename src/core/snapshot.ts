import { HoldfastError } from './errors.ts';
import type { SessionState } from './fold.ts';
import { encodeRecord } from './record.ts';
import type { SessionSummary } from './session-summary.ts';
import { type AnySlice, itemsAsArray } from './slices.ts';

/**
 * A snapshot: the state a log had added up to at some position, so that opening does not fold it all again. Compaction
 * only; a log without one opens the same (D17). Each slice says up to where it was folded and by which version (D6).
 */
export interface Snapshot {
  readonly format: 'holdfast-snapshot';
  readonly version: number;
  readonly sessionId: string;
  readonly seq: number;
  readonly at: string;
  readonly summary?: SessionSummary;
  readonly slices: Readonly<Record<string, SliceSnapshot>>;
}

export interface SliceSnapshot {
  readonly version: number;
  readonly seq: number;
  readonly items: readonly unknown[];
}

/** The shape of snapshots that this version writes. */
export const SNAPSHOT_VERSION = 1;
/** The version of the record's own slices: raise it when `record.ts` folds differently. */
export const RECORD_VERSION = 1;

/** `migrations[n]` turns a snapshot of version n + 1 into one of version n + 2. */
export type SnapshotMigrations = readonly ((snapshot: Readonly<Record<string, unknown>>) => Record<string, unknown>)[];
const MIGRATIONS: SnapshotMigrations = [];

/** Takes a snapshot of a state. `opaque` are slices that an older snapshot held and nobody here knows: they are kept. */
export function takeSnapshot(
  state: SessionState,
  options: {
    readonly sessionId: string;
    readonly at: string;
    readonly slices: readonly AnySlice[];
    readonly opaque?: ReadonlyMap<string, SliceSnapshot>;
  },
): Snapshot {
  const slices: Record<string, SliceSnapshot> = {};
  for (const [name, kept] of options.opaque ?? []) slices[name] = kept;
  for (const [name, items] of Object.entries(encodeRecord(state.record))) {
    slices[name] = { version: RECORD_VERSION, seq: state.seq, items };
  }
  for (const slice of options.slices) {
    if (!slice.persist) continue;
    const items = itemsAsArray(state.slices.get(slice.name) ?? slice.initial);
    slices[slice.name] = { version: slice.version, seq: state.seq, items };
  }
  return {
    format: 'holdfast-snapshot',
    version: SNAPSHOT_VERSION,
    sessionId: options.sessionId,
    seq: state.seq,
    at: options.at,
    ...(state.summary && { summary: state.summary }),
    slices,
  };
}

export interface ParseSnapshotOptions {
  /** Refuse slices that nobody here knows instead of keeping them (D6). */
  readonly strict?: boolean;
  /** Names that are known, for `strict`. */
  readonly known?: readonly string[];
  /** The longest text that is read. */
  readonly maxLength?: number;
  readonly migrations?: SnapshotMigrations;
}

const MAX_LENGTH = 512 * 1024 * 1024;
const MAX_DEPTH = 200;

/** Reads a snapshot from text or from a value, checks it and brings it to this version. Throws `SNAPSHOT_INVALID`. */
export function parseSnapshot(input: unknown, options: ParseSnapshotOptions = {}): Snapshot {
  const { maxLength = MAX_LENGTH, migrations = MIGRATIONS } = options;
  let value = input;
  if (typeof input === 'string') {
    if (input.length > maxLength) refuse(`it is ${input.length} characters long, over the limit of ${maxLength}`);
    if (nestedDeeperThan(input, MAX_DEPTH)) refuse(`it is nested more than ${MAX_DEPTH} levels deep`);
    try {
      value = JSON.parse(input);
    } catch (error) {
      refuse('it is not JSON; it may have been cut', error);
    }
  }
  if (!isRecord(value) || value.format !== 'holdfast-snapshot') refuse('it is not a snapshot of Holdfast');
  return check(migrate(value, migrations), options);
}

function migrate(
  snapshot: Readonly<Record<string, unknown>>,
  migrations: SnapshotMigrations,
): Readonly<Record<string, unknown>> {
  const newest = migrations.length + 1;
  let current = snapshot;
  const { version } = snapshot;
  if (!isCount(version) || version < 1) refuse('it has no version');
  if (version > newest) refuse(`it is of version ${version}, this is version ${newest}: upgrade Holdfast to read it`);
  for (let v = version; v < newest; v++) current = { ...migrations[v - 1]?.(current), version: v + 1 };
  return current;
}

function check(value: Readonly<Record<string, unknown>>, options: ParseSnapshotOptions): Snapshot {
  const { sessionId, seq, at, summary, slices, version } = value;
  if (typeof sessionId !== 'string' || typeof at !== 'string') refuse('its session or time is missing');
  if (!isCount(seq)) refuse('its seq is not a count');
  if (!isRecord(slices)) refuse('its slices are missing');
  const checked: Record<string, SliceSnapshot> = {};
  for (const [name, slice] of Object.entries(slices)) {
    if (name === '__proto__' || name === 'constructor') refuse(`a slice cannot be called ${name}`);
    if (!isRecord(slice) || !isCount(slice.version) || !isCount(slice.seq) || !Array.isArray(slice.items)) {
      refuse(`slice "${name}" is damaged`);
    }
    if (slice.seq > seq) refuse(`slice "${name}" is ahead of its snapshot`);
    if (options.strict && !options.known?.includes(name)) refuse(`slice "${name}" is unknown here`);
    checked[name] = { version: slice.version, seq: slice.seq, items: slice.items };
  }
  for (const message of checked.messages?.items ?? [])
    if (!isMessageLike(message)) refuse('a message in it is damaged');
  for (const evaluation of checked.evaluations?.items ?? [])
    if (!isEvaluationLike(evaluation)) refuse('an evaluation in it is damaged');
  return {
    format: 'holdfast-snapshot',
    version: version as number,
    sessionId,
    seq,
    at,
    ...(isRecord(summary) && { summary: summary as unknown as SessionSummary }),
    slices: checked,
  };
}

function refuse(why: string, cause?: unknown): never {
  throw new HoldfastError(
    'SNAPSHOT_INVALID',
    `this snapshot cannot be used: ${why}. Open the session from its log, or clear the checkpoint and start again`,
    {
      ...(cause !== undefined && { cause }),
    },
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool']);

function isMessageLike(value: unknown): boolean {
  return (
    isRecord(value) &&
    ROLES.has(value.role) &&
    typeof value.evaluationId === 'string' &&
    isCount(value.sequence) &&
    isCount(value.turn) &&
    Array.isArray(value.content)
  );
}

const STATUSES = new Set<unknown>(['running', 'suspended', 'completed', 'failed', 'superseded']);

function isEvaluationLike(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value.id === 'string' &&
    STATUSES.has(value.status) &&
    isCount(value.turn) &&
    isCount(value.nextSequence) &&
    Array.isArray(value.calls) &&
    isRecord(value.usage) &&
    isRecord(value.totalUsage)
  );
}

/** Whether JSON text nests deeper than `limit`, told without parsing it: a parser may not survive to say so. */
function nestedDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}
