import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { BuiltInManager } from '../history-manager.ts';
import { windowOf } from './sliding-window.ts';
import { foldedGroups, managerOf } from './stage.ts';
import { resultsOf } from './truncate-tool-results.ts';
import { reshape, type Shape, type View } from './view.ts';

/** How many results stay. */
export interface ClearToolResultsOptions {
  /** How many groups may hold their results, at most. */
  readonly size: number;
  /** How many still do after clearing. Below `size`, results are cleared in batches and the prompt cache holds in between. */
  readonly low?: number;
  /** What stands in place of a cleared result. */
  readonly note?: string;
  /** Only the results of these tools; absent: of all. */
  readonly tools?: readonly string[];
}

const KNOWN: KnownOptions<ClearToolResultsOptions> = { size: true, low: true, note: true, tools: true };

/**
 * Replaces old tool results by a short note. The calls stay, so the model knows what was done and can do it again. Results of the
 * newest group, results that are shorter than the note, and what is pinned are left as they are.
 */
export function clearToolResults(options: ClearToolResultsOptions): BuiltInManager {
  refuseUnknownOptions('clearToolResults', options, KNOWN);
  const { note = '[old result cleared]' } = options;
  const { size, low, marks } = windowOf('clearToolResults', options);
  const clear = resultsOf(options.tools, (result) => {
    const length = result.content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : Infinity), 0);
    return length <= note.length ? result : { ...result, content: note === '' ? [] : [{ type: 'text', text: note }] };
  });
  return managerOf({
    name: `clear-tool-results(${marks})`,
    apply(view, { context }) {
      const holding = view.whole ? view.index.withResults : groupsWithResults(view);
      const dropped = foldedGroups(holding.length, size, low);
      if (dropped === 0) return { view };
      const border = holding[dropped] ?? Number.POSITIVE_INFINITY;
      const fixed = new Set(view.index.fixedGroups(context.preserve));
      const shape: Shape = (message, group) =>
        message.role === 'tool' && group < border && !fixed.has(group) ? clear(message) : message;
      return { view: reshape(view, shape, false) };
    },
  });
}

function groupsWithResults(view: View): readonly number[] {
  const groups: number[] = [];
  for (const { from, to } of view.pieces) {
    for (let group = from; group < to; group++) if (view.index.positionsOf(group).length > 1) groups.push(group);
  }
  return groups;
}
