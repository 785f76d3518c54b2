/**
 * Decides which lines of a conversation are superseded. Every line names its parent line, so a file holds a tree. Most of its forks
 * supersede nothing: parallel results and hooks have parents on the main branch. But a user who rewinds adds a new prompt to an
 * earlier line, and everything that had followed that line is superseded.
 *
 *     prompt 1 ─ response 1 ─┬─ prompt 2 ─ response 2      superseded by
 *                            └─ prompt 2, again ─ …        the newer prompt with the same parent
 *
 * Three things look like a rewind and are none:
 * - The older branch grows after the newer prompt: two processes write to one file, and both branches are real. A single late line
 *   of a response that had begun before is not growth.
 * - A compaction lies between the prompt and its parent: the second compaction of a process names a parent before the first one.
 * - No line of the file has a parent: the lines are in order as they are.
 *
 * Positions count the lines that were placed. Whether a branch grows is known only at the end, so nothing is decided before that.
 * A parent is always placed before its children; a line whose parent is unknown follows the newest line.
 */

/** The role of a line in the tree. A `lead` is what the harness writes before a prompt: a command and its output. */
export type LineRole = 'prompt' | 'response' | 'result' | 'compaction' | 'lead' | 'aside';

/** The place of a line that follows no other. */
const ROOT = -1;

/** Where a line belongs, as its source says it. */
interface LineLinks {
  readonly uuid: string | undefined;
  readonly parentUuid: string | undefined;
  readonly isRoot: boolean;
  /** The position of the call that this line is the result of. */
  readonly call?: number | undefined;
}

export class Branches {
  readonly #positions = new Map<string, number>();
  readonly #parents: number[] = [];
  readonly #roles: LineRole[] = [];
  /** For each unknown parent of a prompt: the position before the first such prompt. */
  readonly #promptPlaces = new Map<string, number>();
  #hasParents = false;
  /** The newest line that continues the conversation; late lines of other branches do not. */
  #tip = ROOT;
  #lastMessage = ROOT;
  /** The id of the last line, which most lines follow. */
  #lastUuid: string | undefined;
  /** Whether any line could be a rewind. */
  #mayFork = false;
  #superseded: Uint8Array | undefined;

  /** The number of lines that were placed: the position of the next one. */
  get count(): number {
    return this.#parents.length;
  }

  /** The position of a line that was placed. */
  positionOf(uuid: string): number | undefined {
    return this.#positions.get(uuid);
  }

  /** Gives a line that was placed another name: a copy that a resumed session wrote. */
  alias(uuid: string, position: number): void {
    this.#positions.set(uuid, position);
  }

  /** Places a line and returns its position. */
  place(links: LineLinks, role: LineRole): number {
    const position = this.#parents.length;
    const parent = this.#parentOf(links, role);
    if (links.parentUuid !== undefined) this.#hasParents = true;
    if ((role === 'prompt' || role === 'lead') && parent < this.#lastMessage) this.#mayFork = true;
    this.#parents.push(parent);
    this.#roles.push(role);
    if (links.uuid !== undefined) this.#positions.set(links.uuid, position);
    this.#lastUuid = links.uuid;
    const isMessage = role === 'prompt' || role === 'response';
    if (isMessage) this.#lastMessage = position;
    if (isMessage || parent === this.#tip) this.#tip = position;
    return position;
  }

  /** The ids of the superseded lines, and of those at which a superseded branch starts. Valid after the last line was placed. */
  findSuperseded(): { readonly superseded: readonly string[]; readonly rewinds: readonly string[] } {
    if (!this.#mayFork) return { superseded: [], rewinds: [] };
    const decided = this.#decide();
    const superseded = [...this.#positions].filter(([, position]) => decided[position] === 1);
    const starts = superseded.filter(([, position]) => decided[this.#parents[position] ?? ROOT] !== 1);
    return { superseded: superseded.map(([uuid]) => uuid), rewinds: starts.map(([uuid]) => uuid) };
  }

  /** Whether a line is superseded. Valid after the last line was placed. */
  isSuperseded(position: number): boolean {
    return this.#mayFork && this.#decide()[position] === 1;
  }

  #parentOf({ parentUuid, isRoot, call }: LineLinks, role: LineRole): number {
    if (call !== undefined) return call;
    if (parentUuid === undefined) return isRoot && role === 'prompt' && this.#hasParents ? ROOT : this.#tip;
    if (parentUuid === this.#lastUuid) return this.#parents.length - 1;
    const known = this.#positions.get(parentUuid);
    if (known !== undefined) return known;
    if (role !== 'prompt') return this.#tip;
    const place = this.#promptPlaces.get(parentUuid);
    if (place === undefined) this.#promptPlaces.set(parentUuid, this.#tip);
    return place ?? this.#tip;
  }

  /** 1 for each position that is superseded. Linear: parents come before their children. */
  #decide(): Uint8Array {
    if (this.#superseded?.length === this.#parents.length) return this.#superseded;
    const count = this.#parents.length;
    const superseded = new Uint8Array(count);
    this.#superseded = superseded;
    if (!this.#mayFork) return superseded;
    const forks = this.#findForks();
    const { firstMessage, lastGrown } = this.#measureBranches();
    /** Results of a call that stays stay themselves, but not what follows them. */
    const isCut = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const parent = this.#parents[i] as number;
      if (parent >= 0 && (superseded[parent] === 1 || isCut[parent] === 1)) superseded[i] = 1;
      const fork = forks[parent + 1] as number;
      const isOlder = i < fork && (firstMessage[i] as number) < fork && (lastGrown[i] as number) < fork;
      if (isOlder && this.#roles[i] === 'result') isCut[i] = 1;
      else if (isOlder) superseded[i] = 1;
    }
    return superseded;
  }

  /** For each place (a position + 1): where the newest branch that a prompt began there starts. */
  #findForks(): Float64Array {
    const count = this.#parents.length;
    const forks = new Float64Array(count + 1).fill(-1);
    /** The first of the leads before a prompt. */
    const starts = new Float64Array(count);
    let compaction = ROOT;
    for (let i = 0; i < count; i++) {
      const role = this.#roles[i];
      if (role === 'compaction') compaction = i;
      let parent = this.#parents[i] as number;
      if ((role === 'prompt' || role === 'lead') && parent < compaction) {
        parent = i - 1;
        this.#parents[i] = parent;
      }
      starts[i] = this.#roles[parent] === 'lead' ? (starts[parent] as number) : i;
      if (role !== 'prompt') continue;
      const start = starts[i] as number;
      const place = this.#parents[start] as number;
      if (place >= compaction) forks[place + 1] = Math.max(forks[place + 1] as number, start);
    }
    return forks;
  }

  /** For each line: where it or a descendant first speaks, and the newest line that shows that its branch grows. */
  #measureBranches(): { readonly firstMessage: Float64Array; readonly lastGrown: Float64Array } {
    const count = this.#parents.length;
    const firstMessage = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
    const lastGrown = new Float64Array(count).fill(-1);
    for (let i = count - 1; i >= 0; i--) {
      const role = this.#roles[i];
      const parent = this.#parents[i] as number;
      if (role === 'prompt' || role === 'response') {
        firstMessage[i] = i;
        // The rest of a response that had begun is late; a response to a prompt or a result is new.
        const grown = role === 'response' && this.#roles[parent] === 'response' ? parent : i;
        lastGrown[i] = Math.max(lastGrown[i] as number, grown);
      }
      if (parent < 0) continue;
      firstMessage[parent] = Math.min(firstMessage[parent] as number, firstMessage[i] as number);
      lastGrown[parent] = Math.max(lastGrown[parent] as number, lastGrown[i] as number);
    }
    return { firstMessage, lastGrown };
  }
}
