import { HoldfastError, messageOf } from '../errors.ts';
import { frozen, frozenEach } from '../frozen.ts';
import { inputProblem, isCount, isRecord, isUsage, messageProblem } from '../log/message-problem.ts';
import type { SessionSummary } from '../summary/session-summary.ts';
import type { SessionState } from './fold.ts';
import { encodeRecord, RECORD_SLICES, type RecordSlice } from './record-items.ts';
import { type AnySlice, initialItems, itemsAsArray } from './slices.ts';

/**
 * A snapshot: the state of a log at some position, so that opening does not fold the whole log. An optimisation only: a log without
 * one opens the same. Each slice records the position and the reducer version that it was folded with.
 */
export interface Snapshot {
  readonly format: 'holdfast-snapshot';
  readonly version: number;
  readonly sessionId: string;
  readonly seq: number;
  readonly at: string;
  readonly summary?: SessionSummary;
  readonly slices: Readonly<Record<string, SliceSnapshot>>;
  /** External contents that its messages refer to, by name. */
  readonly contents?: Readonly<Record<string, string>>;
  /** The names of external contents that its messages refer to and that it does not contain. */
  readonly missingContents?: readonly string[];
  /** The hash of the remaining text: an altered snapshot is rejected. */
  readonly checksum?: string;
}

/** Hashes a text. Passed in, because this folder imports nothing from Node. */
export type HashText = (text: string) => string;

/** The state of one slice in a snapshot. */
export interface SliceSnapshot {
  readonly version: number;
  readonly seq: number;
  /** A slice that holds a value has one item. */
  readonly items: readonly unknown[];
}

/** The version of the snapshots that this code writes. */
export const SNAPSHOT_VERSION = 1;
/** The version of the record's own slices: raise it when `record.ts` folds differently. */
export const RECORD_VERSION = 1;

/** `migrations[n]` turns a snapshot of version n + 1 into one of version n + 2. */
export type SnapshotMigrations = readonly ((snapshot: Readonly<Record<string, unknown>>) => Record<string, unknown>)[];
const MIGRATIONS: SnapshotMigrations = [];

/** Takes a snapshot of a state. `opaque` are slices from an older snapshot that this process does not define: they are copied. */
export function takeSnapshot(
  state: SessionState,
  options: {
    readonly sessionId: string;
    readonly at: string;
    readonly slices: readonly AnySlice[];
    readonly opaque?: ReadonlyMap<string, SliceSnapshot>;
    readonly contents?: Readonly<Record<string, string>>;
    readonly missingContents?: readonly string[];
  },
): Snapshot {
  const slices: Record<string, SliceSnapshot> = {};
  for (const [name, kept] of options.opaque ?? []) slices[name] = kept;
  for (const [name, items] of Object.entries(encodeRecord(state.record))) {
    slices[name] = { version: RECORD_VERSION, seq: state.seq, items: frozenEach(items) };
  }
  for (const slice of options.slices) {
    if (!slice.persist) continue;
    const items = itemsAsArray(state.slices.get(slice.name) ?? initialItems(slice));
    slices[slice.name] = { version: slice.version, seq: state.seq, items };
  }
  return frozen({
    format: 'holdfast-snapshot',
    version: SNAPSHOT_VERSION,
    sessionId: options.sessionId,
    seq: state.seq,
    at: options.at,
    ...(state.summary && { summary: state.summary }),
    slices,
    ...(options.contents && { contents: options.contents }),
    ...(options.missingContents && options.missingContents.length > 0 && { missingContents: options.missingContents }),
  });
}

/** A snapshot as text, with its checksum. Throws `SNAPSHOT_TOO_LARGE` beyond what a string can hold. */
export function snapshotText(snapshot: Snapshot, hash: HashText): string {
  const text = stringify(snapshot);
  return `${text.slice(0, -1)},"checksum":"${hash(text)}"}`;
}

/** A snapshot with its checksum; without one when its JSON exceeds the maximum string length, since it then cannot be stored as text. */
export function sealSnapshot(snapshot: Snapshot, hash: HashText): Snapshot {
  try {
    return frozen({ ...snapshot, checksum: hash(stringify(snapshot)) });
  } catch {
    return snapshot;
  }
}

/** The maximum length of a string in V8. */
const LONGEST_TEXT = 2 ** 29 - 24;
const TOO_LONG = 'it has more than half a billion characters';

function stringify(snapshot: Snapshot): string {
  try {
    // Counting finds most that are too long: serialising half a billion characters only to fail takes seconds.
    if (textLength(snapshot, LONGEST_TEXT) > LONGEST_TEXT) throw new RangeError(TOO_LONG);
    return JSON.stringify(snapshot);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new HoldfastError(
      'SNAPSHOT_TOO_LARGE',
      `the snapshot of session ${snapshot.sessionId} cannot be written: ${TOO_LONG}. The session opens from its log; store large content outside its slices`,
      { cause },
    );
  }
}

/** Options of `parseSnapshot`. */
export interface ParseSnapshotOptions {
  /** Refuse slices that this process does not define, instead of keeping them. */
  readonly strict?: boolean;
  /** The defined slices besides the built-in ones, for `strict`. */
  readonly known?: readonly string[];
  /** The maximum length of the text; 64 Mi characters by default. */
  readonly maxLength?: number;
  readonly migrations?: SnapshotMigrations;
  /** Refuse a snapshot whose checksum is not this hash of the rest. One without a checksum is accepted. */
  readonly hash?: HashText;
}

const MAX_LENGTH = 64 * 1024 * 1024;
/** The maximum nesting depth: far more than events may have. */
export const MAX_SNAPSHOT_DEPTH = 200;

/** Parses a snapshot from text or from a value, checks it and migrates it to this version. Throws `SNAPSHOT_INVALID`. */
export function parseSnapshot(input: unknown, options: ParseSnapshotOptions = {}): Snapshot {
  const { maxLength = MAX_LENGTH, migrations = MIGRATIONS } = options;
  const text = typeof input === 'string' ? input : asJson(input);
  if (text.length > maxLength) refuse(`it is ${text.length} characters long, over maxLength (${maxLength})`);
  if (nestedDeeperThan(text, MAX_SNAPSHOT_DEPTH)) refuse(`it is nested more than ${MAX_SNAPSHOT_DEPTH} levels deep`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    refuse('it is not JSON; it may have been cut', error);
  }
  if (!isRecord(value) || value.format !== 'holdfast-snapshot') refuse('it is not a snapshot of Holdfast');
  if (options.hash && !isUnaltered(text, value, options.hash)) {
    refuse(
      'it was altered since it was taken, or its fields were reordered (restore it without `checksum` if you trust it)',
    );
  }
  return check(migrate(value, migrations), options);
}

const SEAL = /,"checksum":"([^"]{1,200})"\}$/;

/** Whether the checksum of a snapshot matches the rest of it. */
function isUnaltered(text: string, { checksum, ...rest }: Readonly<Record<string, unknown>>, hash: HashText): boolean {
  if (checksum === undefined) return true;
  const seal = SEAL.exec(text.slice(-300)); // where we write it: then the rest need not be serialised again
  if (seal?.[1] === checksum && hash(`${text.slice(0, -seal[0].length)}}`) === checksum) return true;
  return hash(JSON.stringify(rest)) === checksum;
}

/** A value as text, so that the checks see a copy that no other code can change, without getters, cycles or prototypes. */
function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    return refuse(/string length/i.test(messageOf(error)) ? TOO_LONG : 'it is not plain data', error);
  }
}

function migrate(
  snapshot: Readonly<Record<string, unknown>>,
  migrations: SnapshotMigrations,
): Readonly<Record<string, unknown>> {
  const newest = migrations.length + 1;
  const { version } = snapshot;
  if (!isCount(version) || version < 1) refuse('it has no version');
  if (version > newest) refuse(`it is of version ${version}, this is version ${newest}: upgrade Holdfast to read it`);
  let current = snapshot;
  for (const [i, migration] of migrations.entries()) {
    if (i + 1 < version) continue;
    try {
      current = { ...migration(current), version: i + 2 };
    } catch (error) {
      refuse(`it is of version ${version} and could not be brought to version ${newest}`, error);
    }
  }
  return current;
}

function check(value: Readonly<Record<string, unknown>>, options: ParseSnapshotOptions): Snapshot {
  const { sessionId, seq, at, summary, slices, version, contents, missingContents, checksum } = value;
  if (typeof sessionId !== 'string' || typeof at !== 'string') refuse('its session or time is missing');
  if (!isCount(seq)) refuse('its seq is not a count');
  if (!isRecord(slices)) refuse('its slices are missing');
  if (summary !== undefined && !isSummary(summary)) refuse('its summary is damaged');
  if (contents !== undefined && !(isRecord(contents) && Object.values(contents).every(isText))) {
    refuse('its contents are damaged');
  }
  if (missingContents !== undefined && !(Array.isArray(missingContents) && missingContents.every(isText))) {
    refuse('its list of missing contents is damaged');
  }
  const known = options.strict && new Set<string>([...RECORD_SLICES, ...(options.known ?? [])]);
  const checked: Record<string, SliceSnapshot> = {};
  for (const [name, slice] of Object.entries(slices)) {
    if (name === '__proto__' || name === 'constructor') refuse(`a slice cannot be called ${name}`);
    if (!isRecord(slice) || !isCount(slice.version) || !isCount(slice.seq) || !Array.isArray(slice.items)) {
      refuse(`slice "${name}" is damaged`);
    }
    if (slice.seq > seq) refuse(`slice "${name}" is ahead of its snapshot`);
    if (known && !known.has(name)) refuse(`slice "${name}" is unknown here`);
    checked[name] = { version: slice.version, seq: slice.seq, items: slice.items };
  }
  // Items of another version have another shape: opening the session folds them again (D6).
  const ours = Object.entries(checked).filter(([, slice]) => slice.version === RECORD_VERSION);
  const problem = recordItemsProblem(Object.fromEntries(ours.map(([name, slice]) => [name, slice.items])));
  if (problem) refuse(problem);
  return {
    format: 'holdfast-snapshot',
    version: version as number,
    sessionId,
    seq,
    at,
    ...(summary !== undefined && { summary: summary as SessionSummary }),
    slices: checked,
    ...(contents !== undefined && { contents: contents as Snapshot['contents'] & {} }),
    ...(missingContents !== undefined && { missingContents: missingContents as readonly string[] }),
    ...(typeof checksum === 'string' && { checksum }),
  };
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** The total length of the texts in a value, counted up to `limit`. */
function textLength(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    length += textLength(inner, limit - length);
    if (length > limit) break;
  }
  return length;
}

/** What is wrong with the items of a record, or undefined when the fold can continue from them. Other slices are not checked. */
export function recordItemsProblem(slices: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of RECORD_SLICES) {
    const items = Object.hasOwn(slices, name) ? slices[name] : [];
    if (!Array.isArray(items) || !items.every(ITEM_CHECKS[name])) return `an item of its ${name} is damaged`;
  }
  return undefined;
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

/** Checks the fields of the record's items that folding reads. */
const ITEM_CHECKS: { readonly [name in RecordSlice]: (item: unknown) => boolean } = {
  messages: (item) => messageProblem(item) === undefined,
  evaluations: isEvaluation,
  toolStarts: (item) => isRecord(item) && isCallRef(item),
  adapterStates: (item) => isRecord(item) && typeof item.evaluationId === 'string' && isRecord(item.state),
  usage: (item) => isRecord(item) && typeof item.evaluationId === 'string' && isUsage(item.usage),
  summaries: (item) =>
    isRecord(item) && [item.evaluationId, item.key, item.text].every((text) => typeof text === 'string'),
  inbox: isSessionInput,
};

const INPUT_STATUSES = new Set<unknown>(['queued', 'placed', 'withdrawn']);

function isSessionInput(item: unknown): boolean {
  return (
    isRecord(item) &&
    typeof item.id === 'string' &&
    isCount(item.seq) &&
    (item.mode === 'next' || item.mode === 'steer') &&
    INPUT_STATUSES.has(item.status) &&
    (item.content === undefined ? item.status === 'placed' : inputProblem(item.content) === undefined)
  );
}

const STATUSES = new Set<unknown>(['running', 'suspended', 'completed', 'failed', 'superseded']);
const CALL_STATUSES = new Set<unknown>(['pending', 'started', 'completed', 'failed']);

function isEvaluation(item: unknown): boolean {
  return (
    isRecord(item) &&
    [item.id, item.conversationId, item.promptNs, item.promptKey].every((text) => typeof text === 'string') &&
    STATUSES.has(item.status) &&
    isCount(item.turn) &&
    isCount(item.nextSequence) &&
    Array.isArray(item.calls) &&
    item.calls.every((call) => isRecord(call) && isCallRef(call) && CALL_STATUSES.has(call.status)) &&
    (item.cancelRequest === undefined || (isRecord(item.cancelRequest) && isCount(item.cancelRequest.seq))) &&
    isUsage(item.usage) &&
    isUsage(item.totalUsage)
  );
}

function isCallRef(item: Readonly<Record<string, unknown>>): boolean {
  return typeof item.evaluationId === 'string' && isCount(item.turn) && typeof item.callId === 'string';
}

function isSummary(value: unknown): boolean {
  return (
    isRecord(value) &&
    Array.isArray(value.tags) &&
    value.tags.every((tag) => typeof tag === 'string') &&
    isRecord(value.metadata) &&
    typeof value.createdAt === 'string' &&
    (value.approvalDeadlines === undefined || isRecordOfStrings(value.approvalDeadlines))
  );
}

function isRecordOfStrings(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((field) => typeof field === 'string');
}

/** Whether JSON text is nested deeper than `limit`, found without parsing it: deep nesting can crash a parser. */
function nestedDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
      if (i < 0) return false;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** The closing quote of the string that opens at `start`, or -1. Uses `indexOf`: most of the text is inside strings. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
