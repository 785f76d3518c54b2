/** Replaces directories in texts: a handed-over conversation names files of the machine or the directory that it comes from. */
import { HoldfastError } from '../../core/errors.ts';

/** Directories and what replaces them, both absolute. */
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
  if (isAbsolutePath(given) && name !== '' && !/^[A-Za-z]:$/.test(name) && !given.includes('\0')) return name;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `paths maps absolute directories to absolute directories, such as { '/old/project': '/new/project' }; not "${String(path)}"`,
  );
}

/** Whether a path names a directory on any machine: POSIX, a drive, or a share. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(path);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
