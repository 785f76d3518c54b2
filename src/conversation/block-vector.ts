import { List } from '../core/list.ts';
import type { BlockList, ConversationBlock } from './blocks.ts';
import { VersionedArray } from './versioned-array.ts';

/**
 * Finds positions by key, in all versions of a persistent list at once.
 *
 * All versions that start from one list share one index. It holds every position where any version ever put a key, and only grows.
 * So its positions are candidates: a version checks its own item at each. Growing and branching are equally cheap, and a frozen
 * state has nothing to freeze.
 */
export class PositionIndex {
  readonly #positions = new Map<string, number | readonly number[]>();

  /** The number of keys that any version ever put. */
  get size(): number {
    return this.#positions.size;
  }

  /** The positions where the key may be: none, one, or several. */
  candidates(key: string): number | readonly number[] | undefined {
    return this.#positions.get(key);
  }

  add(key: string, position: number): void {
    const known = this.#positions.get(key);
    if (known === undefined) this.#positions.set(key, position);
    else if (typeof known === 'number') {
      if (known !== position) this.#positions.set(key, [known, position]);
    } else if (!known.includes(position)) this.#positions.set(key, [...known, position]);
  }
}

/** Fewer holes are never worth a new list. */
const MIN_HOLES = 32;

/**
 * The blocks of one conversation: a persistent list that also finds a block by id, a call by tool use id, and the pending blocks.
 *
 * A removed block leaves a hole, so that the others keep their positions; when a third of the positions are holes, the list is made again
 * without them. So an index counts blocks and a position counts holes, too. Only `at` is slow while there are holes: its first call looks
 * at every block.
 */
export class BlockVector implements BlockList {
  readonly length: number;
  readonly #list: VersionedArray<ConversationBlock | undefined>;
  readonly #ids: PositionIndex;
  /** Calls whose tool use id is not their block's id; most conversations have none. */
  readonly #calls: PositionIndex | undefined;
  /** Positions that were pending once. Closed ones are skipped when read, and dropped when they are too many. */
  readonly #opened: List<number>;
  readonly #pendingCount: number;
  readonly #holes: number;
  /** The blocks without the holes, when `at` needs them. */
  #blocks: readonly ConversationBlock[] | undefined;

  private constructor(
    list: VersionedArray<ConversationBlock | undefined>,
    ids: PositionIndex,
    calls: PositionIndex | undefined,
    opened: List<number>,
    pendingCount: number,
    holes: number,
  ) {
    this.#list = list;
    this.#holes = holes;
    this.length = list.length - holes;
    this.#ids = ids;
    this.#calls = calls;
    this.#opened = opened;
    this.#pendingCount = pendingCount;
  }

  static readonly empty: BlockVector = new BlockVector(
    VersionedArray.from<ConversationBlock | undefined>([]),
    new PositionIndex(),
    undefined,
    List.empty(),
    0,
    0,
  );

  /** A vector of the blocks; of two with the same id, the later one replaces the earlier. */
  static from(blocks: Iterable<ConversationBlock>): BlockVector {
    let vector = BlockVector.empty;
    for (const block of blocks) vector = vector.put(block);
    return vector;
  }

  at(index: number): ConversationBlock | undefined {
    const place = index < 0 ? this.length + index : index;
    if (this.#holes === 0) return this.#list.at(place);
    if (place === this.length - 1) return this.#last();
    this.#blocks ??= this.toArray();
    return this.#blocks[place];
  }

  /** The block at a position, as the other methods name it. */
  blockAt(position: number): ConversationBlock | undefined {
    return this.#list.at(position);
  }

  /** The position of the block with this id, or -1. */
  positionOf(id: string): number {
    const found = this.#ids.candidates(id);
    if (found === undefined) return -1;
    if (typeof found === 'number') return this.#list.at(found)?.id === id ? found : -1;
    for (const position of found) if (this.#list.at(position)?.id === id) return position;
    return -1;
  }

  get(id: string): ConversationBlock | undefined {
    const position = this.positionOf(id);
    return position < 0 ? undefined : this.#list.at(position);
  }

  /** The position of the call that a result with this tool use id belongs to: the last pending one, else the last; or -1. */
  positionOfCall(toolUseId: string): number {
    let best = -1;
    let bestIsPending = false;
    const consider = (position: number): void => {
      const block = this.#list.at(position);
      if (block?.type !== 'tool_use' || block.toolUseId !== toolUseId) return;
      const pending = block.status === 'pending';
      if (best >= 0 && (bestIsPending === pending ? position < best : bestIsPending)) return;
      best = position;
      bestIsPending = pending;
    };
    const own = this.positionOf(toolUseId);
    if (own >= 0) consider(own);
    const others = this.#calls?.candidates(toolUseId);
    if (typeof others === 'number') consider(others);
    else if (others) for (const position of others) consider(position);
    return best;
  }

  /** A vector with `block` in place of the one with its id, or at the end. */
  put(block: ConversationBlock): BlockVector {
    const position = this.positionOf(block.id);
    return position < 0 ? this.push(block) : this.set(position, block);
  }

  /** A vector with `block`, whose id is new, at the end. */
  push(block: ConversationBlock): BlockVector {
    const position = this.#list.length;
    // The shared index also holds the blocks of other branches; when those are the majority, this branch gets its own index.
    const ids = position === 0 || this.#ids.size > 2 * position + 64 ? this.#indexOfIds() : this.#ids;
    ids.add(block.id, position);
    const pending = block.status === 'pending';
    return new BlockVector(
      this.#list.push(block),
      ids,
      this.#withCall(block, position),
      pending ? this.#opened.push(position) : this.#opened,
      pending ? this.#pendingCount + 1 : this.#pendingCount,
      this.#holes,
    );
  }

  /** A vector with `block` in place of the one at `position`, which has the same id. */
  set(position: number, block: ConversationBlock): BlockVector {
    const before = this.#list.at(position);
    if (before === undefined || before === block) return this;
    const list = this.#list.set(position, block);
    const calls = block.type === 'tool_use' ? this.#withCall(block, position) : this.#calls;
    if (before.status === block.status) return this.#with(list, calls, this.#opened, this.#pendingCount);
    if (block.status === 'pending') return this.#with(list, calls, this.#opened.push(position), this.#pendingCount + 1);
    if (before.status !== 'pending') return this.#with(list, calls, this.#opened, this.#pendingCount);
    const pendingCount = this.#pendingCount - 1;
    return this.#with(list, calls, pruned(this.#opened, list, pendingCount), pendingCount);
  }

  /** A vector without the block of this id. */
  remove(id: string): BlockVector {
    const position = this.positionOf(id);
    const before = this.#list.at(position);
    if (before === undefined) return this;
    const pendingCount = before.status === 'pending' ? this.#pendingCount - 1 : this.#pendingCount;
    if (position === this.#list.length - 1)
      return this.#with(this.#list.pop(), this.#calls, this.#opened, pendingCount);
    const holes = this.#holes + 1;
    const list = this.#list.set(position, undefined);
    if (holes > MIN_HOLES && holes > list.length / 3)
      return BlockVector.from(list.toJSON().flatMap((block) => block ?? []));
    return this.#with(list, this.#calls, this.#opened, pendingCount, holes);
  }

  /** The positions of the pending blocks, in order; its cost does not grow with the complete ones. */
  pendingPositions(): number[] {
    if (this.#pendingCount === 0) return [];
    const pending = this.#opened.filter((position) => this.#list.at(position)?.status === 'pending');
    return [...new Set(pending)].sort((a, b) => a - b);
  }

  slice(start?: number, end?: number): ConversationBlock[] {
    return this.toArray().slice(start, end);
  }

  map<T>(f: (block: ConversationBlock, index: number) => T): T[] {
    return this.toArray().map(f);
  }

  filter(f: (block: ConversationBlock) => boolean): ConversationBlock[] {
    return this.toArray().filter(f);
  }

  find(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined {
    return this.toArray().find(f);
  }

  findLast(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined {
    return this.toArray().findLast(f);
  }

  some(f: (block: ConversationBlock) => boolean): boolean {
    return this.toArray().some(f);
  }

  every(f: (block: ConversationBlock) => boolean): boolean {
    return this.toArray().every(f);
  }

  forEach(f: (block: ConversationBlock, index: number) => void): void {
    this.toArray().forEach(f);
  }

  static {
    // `console.log` of Node shows the blocks, as it would those of an array. Declarations cannot name a method with a computed key.
    Object.defineProperty(BlockVector.prototype, Symbol.for('nodejs.util.inspect.custom'), {
      value(this: BlockVector): readonly ConversationBlock[] {
        return this.toArray();
      },
    });
  }

  toJSON(): ConversationBlock[] {
    return this.toArray();
  }

  toArray(): ConversationBlock[] {
    const blocks = this.#list.toJSON();
    return this.#holes === 0 ? (blocks as ConversationBlock[]) : blocks.flatMap((block) => block ?? []);
  }

  [Symbol.iterator](): Iterator<ConversationBlock> {
    return this.#holes === 0
      ? (this.#list as VersionedArray<ConversationBlock>)[Symbol.iterator]()
      : this.toArray()[Symbol.iterator]();
  }

  /** The last block: pages follow it while it streams, so it must be found without a look at the others. */
  #last(): ConversationBlock | undefined {
    let position = this.#list.length - 1;
    while (position >= 0 && this.#list.at(position) === undefined) position--;
    return this.#list.at(position);
  }

  #with(
    list: VersionedArray<ConversationBlock | undefined>,
    calls: PositionIndex | undefined,
    opened: List<number>,
    pendingCount: number,
    holes: number = this.#holes,
  ): BlockVector {
    return new BlockVector(list, this.#ids, calls, opened, pendingCount, holes);
  }

  #indexOfIds(): PositionIndex {
    const ids = new PositionIndex();
    let position = 0;
    for (const block of this.#list) {
      if (block) ids.add(block.id, position);
      position++;
    }
    return ids;
  }

  #withCall(block: ConversationBlock, position: number): PositionIndex | undefined {
    if (block.type !== 'tool_use' || block.toolUseId === block.id) return this.#calls;
    const calls = this.#calls ?? new PositionIndex();
    calls.add(block.toolUseId, position);
    return calls;
  }
}

function pruned(
  opened: List<number>,
  list: VersionedArray<ConversationBlock | undefined>,
  pendingCount: number,
): List<number> {
  if (opened.length <= 2 * pendingCount + 32) return opened;
  if (pendingCount === 0) return List.empty();
  return List.from(opened.filter((position) => list.at(position)?.status === 'pending'));
}
