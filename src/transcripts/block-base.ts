import type {
  Attachment,
  BlockBase,
  BlockMessage,
  BlockStatus,
  ToolResultBlock,
  UnknownBlock,
} from '../conversation/blocks.ts';
import type { BlockWriter } from './block-writer.ts';

/** The fields of every block, in the order in which all converters write them: equal blocks are then equal as JSON text. */
export function blockBase(
  id: string,
  conversationId: string,
  timestamp: string,
  message?: BlockMessage,
  status: BlockStatus = 'complete',
): BlockBase {
  return { id, conversationId, timestamp, status, ...(message && { message }) };
}

/** An attachment without the fields that its source leaves out. */
export function attachment(media: {
  readonly mediaType: string;
  readonly data: string | undefined;
  readonly filename?: string | undefined;
}): Attachment {
  const { mediaType, data, filename } = media;
  return { mediaType, ...(data !== undefined && { data }), ...(filename !== undefined && { filename }) };
}

/** The block of a call's result. */
export function resultBlock(
  conversationId: string,
  toolUseId: string,
  result: Pick<ToolResultBlock, 'output' | 'isError'> & { readonly parts?: readonly unknown[] | undefined },
  timestamp: string,
): ToolResultBlock {
  const { output, isError, parts } = result;
  const base = blockBase(`result:${toolUseId}`, conversationId, timestamp, undefined, isError ? 'error' : 'complete');
  return { ...base, type: 'tool_result', toolUseId, output, isError, ...(parts && { parts }) };
}

/** Keeps content of an unknown type unchanged, and reports it (D49). */
export function unknownBlock(
  base: BlockBase,
  sourceType: string,
  value: unknown,
  { diagnostics }: Pick<BlockWriter, 'diagnostics'>,
): UnknownBlock {
  diagnostics.unknown(sourceType);
  return { ...base, type: 'unknown', sourceType, data: diagnostics.kept(value, base.id) };
}

/** Names that each stand once: a name that is used again gets `#2`, `#3` and so on (D46). */
export class NumberedNames {
  /** How often each plain name was used. */
  readonly #counts = new Map<string, number>();

  /** Uses a name. */
  add(name: string): string {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return this.newest(name);
  }

  /** The name of its newest use: that of the call which a result belongs to. */
  newest(name: string): string {
    const count = this.#counts.get(name) ?? 1;
    return count === 1 ? name : `${name}#${count}`;
  }
}
