import type { AnySlice } from '../../core/fold/slices.ts';
import type { AnySession } from '../../session/session.ts';
import type { Prompt } from './define-prompt.ts';

/** The slices that a prompt's tools declare, each once. */
export function slicesOf({ tools }: Pick<Prompt<unknown>, 'tools'>): readonly AnySlice[] {
  return [...new Set(tools.flatMap((tool) => tool.slices ?? []))];
}

/** The method of the session's handle, which the public interface leaves out. */
interface TakesSlices {
  addSlices(slices: readonly AnySlice[]): Promise<void>;
}

/** Makes a session fold the slices of a prompt's tools, too, from the start of its log (D80). Costs nothing when it does already. */
export function addSlices(session: AnySession, prompt: Pick<Prompt<unknown>, 'tools'>): Promise<void> | undefined {
  const slices = slicesOf(prompt);
  return slices.length === 0 ? undefined : (session as unknown as TakesSlices).addSlices(slices);
}
