import { diffWordsWithSpace } from 'diff';

/** A piece of a text; changed when the other text does not have it there. */
export interface Piece {
  readonly text: string;
  readonly isChanged: boolean;
}

/** The time that a comparison may take. Texts that need longer are shown without marks. */
const TIMEOUT_MS = 50;
/** Texts that share less than this are different texts: marks in them say nothing. */
const MIN_SHARED = 0.3;

/** The words of two texts that only one of them has; undefined when they have little in common. */
export function wordDifferences(
  left: string,
  right: string,
): { readonly left: readonly Piece[]; readonly right: readonly Piece[] } | undefined {
  const changes = diffWordsWithSpace(left, right, { timeout: TIMEOUT_MS });
  if (!changes) return undefined;
  const shared = changes.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.length), 0);
  if (shared < Math.max(left.length, right.length) * MIN_SHARED) return undefined;
  const side = (without: 'added' | 'removed'): readonly Piece[] =>
    changes
      .filter((change) => !change[without])
      .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
  return { left: side('added'), right: side('removed') };
}
