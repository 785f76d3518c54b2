import type { CodeSplittingGroup, Plugin } from 'rolldown';

/** The entries that an agent with a database imports, and what the command needs to print its help. */
const LOADED_OFTEN = ['index', 'sqlite', 'cli/main'];

/** The order keeps entries for browsers free of modules that need Node, and the start of the command small. */
const CHUNKS = ['cli/main', 'react', 'conversation', 'history', 'cli/holdfast', 'store', 'postgres', 'sqlite', 'index'];

/**
 * Which chunk holds a module that several entries share: each module that is loaded often belongs to the first entry in `CHUNKS` that imports
 * it. A bundler makes a chunk for every set of entries instead, and Node takes as long to load those forty files as
 * to start.
 */
export class SharedChunks {
  readonly #fileOf: (entry: string) => string;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #reached = new Map<string, ReadonlySet<string>>();

  constructor(fileOf: (entry: string) => string) {
    this.#fileOf = fileOf;
  }

  /** Learns what each module imports. */
  get plugin(): Plugin {
    return { name: 'shared-chunks', moduleParsed: ({ id, importedIds }) => void this.#imports.set(id, importedIds) };
  }

  get groups(): CodeSplittingGroup[] {
    return CHUNKS.map((entry, i) => ({
      name: `shared-${entry.replace('/', '-')}`,
      test: (id: string) => this.#chunkOf(id) === entry,
      priority: CHUNKS.length - i,
      minShareCount: 2,
    }));
  }

  #chunkOf(id: string): string | undefined {
    if (!LOADED_OFTEN.some((entry) => this.#reachedFrom(entry).has(id))) return undefined;
    return CHUNKS.find((entry) => this.#reachedFrom(entry).has(id));
  }

  #reachedFrom(entry: string): ReadonlySet<string> {
    const known = this.#reached.get(entry);
    if (known) return known;
    const reached = new Set([this.#fileOf(entry)]);
    for (const id of reached) for (const imported of this.#imports.get(id) ?? []) reached.add(imported);
    this.#reached.set(entry, reached);
    return reached;
  }
}
