import { List } from '../core/list.ts';
import type { BlockList, ConversationBlock } from './blocks.ts';
import { PositionIndex } from './position-index.ts';
import { VersionedArray } from './versioned-array.ts';

/**
 * The blocks of one conversation: a persistent list that also finds a block by id, a call by tool use id, and the pending blocks. Only
 * the cost of removing a block grows with the length.
 */
export class BlockVector implements BlockList {
  readonly length: number;
  readonly #list: VersionedArray<ConversationBlock>;
  readonly #ids: PositionIndex;
  /** Calls whose tool use id is not their block's id; most conversations have none. */
  readonly #calls: PositionIndex | undefined;
  /** Positions that were pending once. Closed ones are skipped when read, and dropped when they are too many. */
  readonly #opened: List<number>;
  readonly #pendingCount: number;

  private constructor(
    list: VersionedArray<ConversationBlock>,
    ids: PositionIndex,
    calls: PositionIndex | undefined,
    opened: List<number>,
    pendingCount: number,
  ) {
    this.#list = list;
    this.length = list.length;
    this.#ids = ids;
    this.#calls = calls;
    this.#opened = opened;
    this.#pendingCount = pendingCount;
  }

  static readonly empty: BlockVector = new BlockVector(
    VersionedArray.from([]),
    new PositionIndex(),
    undefined,
    List.empty(),
    0,
  );

  /** A vector of the blocks; of two with the same id, the later one replaces the earlier. */
  static from(blocks: Iterable<ConversationBlock>): BlockVector {
    let vector = BlockVector.empty;
    for (const block of blocks) vector = vector.put(block);
    return vector;
  }

  at(index: number): ConversationBlock | undefined {
    return this.#list.at(index < 0 ? this.length + index : index);
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
    const position = this.length;
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
    );
  }

  /** A vector with `block` in place of the one at `position`, which has the same id. */
  set(position: number, block: ConversationBlock): BlockVector {
    const before = this.#list.at(position);
    if (before === undefined || before === block) return this;
    const list = this.#list.set(position, block);
    const calls = block.type === 'tool_use' ? this.#withCall(block, position) : this.#calls;
    if (before.status === block.status)
      return new BlockVector(list, this.#ids, calls, this.#opened, this.#pendingCount);
    if (block.status === 'pending')
      return new BlockVector(list, this.#ids, calls, this.#opened.push(position), this.#pendingCount + 1);
    if (before.status !== 'pending') return new BlockVector(list, this.#ids, calls, this.#opened, this.#pendingCount);
    const pendingCount = this.#pendingCount - 1;
    return new BlockVector(list, this.#ids, calls, pruned(this.#opened, list, pendingCount), pendingCount);
  }

  /** A vector without the block of this id. Its cost grows with the length: removals are rare. */
  remove(id: string): BlockVector {
    const position = this.positionOf(id);
    return position < 0 ? this : BlockVector.from(this.#list.toJSON().toSpliced(position, 1));
  }

  /** The positions of the pending blocks, in order; its cost does not grow with the complete ones. */
  pendingPositions(): number[] {
    if (this.#pendingCount === 0) return [];
    const pending = this.#opened.filter((position) => this.#list.at(position)?.status === 'pending');
    return [...new Set(pending)].sort((a, b) => a - b);
  }

  map<T>(f: (block: ConversationBlock, index: number) => T): T[] {
    const result: T[] = [];
    for (const block of this) result.push(f(block, result.length));
    return result;
  }

  filter(f: (block: ConversationBlock) => boolean): ConversationBlock[] {
    const result: ConversationBlock[] = [];
    for (const block of this) if (f(block)) result.push(block);
    return result;
  }

  find(f: (block: ConversationBlock) => boolean): ConversationBlock | undefined {
    for (const block of this) if (f(block)) return block;
    return undefined;
  }

  toJSON(): ConversationBlock[] {
    return this.#list.toJSON();
  }

  [Symbol.iterator](): Iterator<ConversationBlock> {
    return this.#list[Symbol.iterator]();
  }

  #indexOfIds(): PositionIndex {
    const ids = new PositionIndex();
    let position = 0;
    for (const block of this.#list) ids.add(block.id, position++);
    return ids;
  }

  #withCall(block: ConversationBlock, position: number): PositionIndex | undefined {
    if (block.type !== 'tool_use' || block.toolUseId === block.id) return this.#calls;
    const calls = this.#calls ?? new PositionIndex();
    calls.add(block.toolUseId, position);
    return calls;
  }
}

function pruned(opened: List<number>, list: VersionedArray<ConversationBlock>, pendingCount: number): List<number> {
  if (opened.length <= 2 * pendingCount + 32) return opened;
  if (pendingCount === 0) return List.empty();
  return List.from(opened.filter((position) => list.at(position)?.status === 'pending'));
}
