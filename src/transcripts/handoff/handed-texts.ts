import { HoldfastError } from '../../core/errors.ts';
import type { MediaPart, ToolCall } from '../../core/log/messages.ts';
import type { LossReport } from '../../formats/losses.ts';
import { type RedactOptions, redactorOf, type SecretCounts, type SecretRedactor } from '../export/redact-secrets.ts';
import { asObject, isKeepable, type Json, parseJson, TOO_DEEP } from '../json-access.ts';

/** Texts and inputs as they are handed over: without secrets, with paths of the new place, in whole characters. */
export class HandedTexts {
  readonly #redactor: SecretRedactor | undefined;
  readonly #paths: PathMapper;
  readonly #losses: LossReport;

  constructor(
    options: { readonly redact?: boolean | RedactOptions | undefined; readonly paths?: PathMap | undefined },
    losses: LossReport,
  ) {
    this.#redactor = redactorOf(options.redact ?? false);
    this.#paths = new PathMapper(options.paths);
    this.#losses = losses;
  }

  /** The number of redacted secrets, by kind. */
  get redacted(): SecretCounts {
    return this.#redactor?.counts ?? {};
  }

  text(text: string, id: string): string {
    return this.#whole(this.#paths.text(this.#redactor?.data(text) ?? text), id);
  }

  medium(part: MediaPart): MediaPart {
    const { data, mediaType, type, filename } = this.#redactor?.data(part) ?? part;
    return { type, mediaType, data, ...(filename !== undefined && { filename: filename.toWellFormed() }) };
  }

  /** A call's arguments as an object: what is no object, such as a patch, is wrapped in one. */
  input({ callId, arguments: text }: ToolCall): Json {
    const value = text.trim() === '' ? {} : (parseJson(text) ?? text);
    const object = asObject(value);
    if (!object) this.#losses.add('arguments of a call', 'wrapped: they are no JSON object', callId);
    const input = object ?? { input: value };
    if (!isKeepable(input)) {
      this.#losses.add('arguments of a call', 'left out: they are nested too deeply', callId);
      return { input: TOO_DEEP };
    }
    return this.#value(this.#redactor?.data(input) ?? input, callId) as Json;
  }

  #value(value: unknown, id: string): unknown {
    if (typeof value === 'string') return this.#whole(this.#paths.text(value), id);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#value(item, id));
    const fields = Object.entries(value).map(([name, field]) => [this.#whole(name, id), this.#value(field, id)]);
    return Object.fromEntries(fields);
  }

  /** Half a character (a lone surrogate) is no UTF-8: Codex skips a line that holds one. */
  #whole(text: string, id: string): string {
    if (text.isWellFormed()) return text;
    this.#losses.add('half a character', 'written as U+FFFD', id);
    return text.toWellFormed();
  }
}

/** Directories and what replaces them, both absolute: texts name files of the machine that the conversation comes from. */
export type PathMap = Readonly<Record<string, string>>;

/** Characters that continue a name: `/old/app` is not replaced in `/old/app2`, `/old/app-2` or `/very/old/app`. */
const NAME = '\\p{L}\\p{N}_~@+%\\-';
/** A point belongs to the name only if the name continues behind it: a sentence may end with a path. */
const NOT_CONTINUED = `(?![${NAME}]|\\.[${NAME}])`;
const NOT_INSIDE = `(?:(?<=file://)|(?<![${NAME}./\\\\]))`;

/** Replaces directories, whole segments only. Every place is replaced once, so two directories can be exchanged. */
export class PathMapper {
  readonly #targets: ReadonlyMap<string, string>;
  readonly #pattern: RegExp | undefined;

  /** Throws `INVALID_ARGUMENT` for a path that is not absolute, and for the root directory. */
  constructor(paths: PathMap = {}) {
    this.#targets = new Map(Object.entries(paths).map(([from, to]) => [directory(from), directory(to)]));
    const alternatives = [...this.#targets.keys()].sort((a, b) => b.length - a.length).map(escaped);
    if (alternatives.length > 0) {
      this.#pattern = new RegExp(`${NOT_INSIDE}(?:${alternatives.join('|')})${NOT_CONTINUED}`, 'gu');
    }
  }

  text(text: string): string {
    if (!this.#pattern) return text;
    return text.replaceAll(this.#pattern, (found) => this.#targets.get(found) ?? found);
  }
}

function directory(path: unknown): string {
  const given = typeof path === 'string' ? path : '';
  const name = given.replace(/(?<![/\\])[/\\]+$/, '');
  if (isAbsolutePath(given) && name !== '' && !/^[A-Za-z]:$/.test(name)) return name;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `paths maps absolute directories to absolute directories, such as { '/old/project': '/new/project' }; not "${String(path)}"`,
  );
}

/** Whether a value names a directory on any machine: POSIX, a drive, or a share. */
export function isAbsolutePath(path: unknown): path is string {
  return typeof path === 'string' && /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(path) && !path.includes('\0');
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
