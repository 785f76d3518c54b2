import { HoldfastError } from '../../core/errors.ts';
import type { AnySlice } from '../../core/fold/slices.ts';
import type { SessionView } from '../../core/views/session-view.ts';
import type { Prompt } from './define-prompt.ts';

/** The slices that a prompt's tools declare, each once. */
export function slicesOf({ tools }: Pick<Prompt<unknown>, 'tools'>): readonly AnySlice[] {
  return [...new Set(tools.flatMap((tool) => tool.slices ?? []))];
}

/** Throws `SLICE_UNKNOWN` when a session lacks a slice of a tool: the tool's events would be recorded and fold into nothing. */
export function requireSlices({ id, state }: SessionView, { tools }: Pick<Prompt<unknown>, 'tools'>): void {
  for (const { name, slices = [] } of tools) {
    const missing = slices.find((slice) => !state.slices.has(slice.name));
    if (!missing) continue;
    throw new HoldfastError(
      'SLICE_UNKNOWN',
      `tool "${name}" uses the slice "${missing.name}", which session ${id} was not opened with; pass it to openSession({ slices })`,
    );
  }
}
