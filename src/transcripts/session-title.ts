const MAX_LENGTH = 100;

/** The first line of a text as a title, cut after a whole character; `undefined` when it is blank. */
export function sessionTitle(text: string | undefined): string | undefined {
  const line = text?.trim().split('\n', 1)[0]?.trim();
  if (line === undefined || line === '') return undefined;
  const characters = [...line.slice(0, 2 * MAX_LENGTH)];
  return characters.length <= MAX_LENGTH ? line : `${characters.slice(0, MAX_LENGTH).join('')}…`;
}
