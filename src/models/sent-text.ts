/** Text that stands where a provider wants some and there is none. */

/** For a user's message without any content, which the next answer needs all the same. */
export const NOTHING_SAID = '(empty message)';

/** For a tool that failed without a word. */
export const FAILED_SILENTLY = 'The tool failed.';

/** Whether a part says anything: blank text does not, and Anthropic refuses a request that has it. */
export function isSaid(part: { readonly type: string; readonly text?: string }): boolean {
  return part.type !== 'text' || (part.text ?? '').trim() !== '';
}

/** What a user says who only gave instructions, where somebody has to say something first. */
export const BEGIN = 'Begin.';
