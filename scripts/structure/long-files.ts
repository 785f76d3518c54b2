/** A file with more lines holds more than one idea: split it by idea. */
export const MAX_LINES = 400;

/** The files that have more than `MAX_LINES` lines, with their number of lines. */
export function longFiles(
  sources: ReadonlyMap<string, string>,
): readonly { readonly path: string; readonly lines: number }[] {
  return Array.from(sources, ([path, source]) => ({ path, lines: linesIn(source) })).filter(
    ({ lines }) => lines > MAX_LINES,
  );
}

function linesIn(source: string): number {
  return source.split('\n').length - (source.endsWith('\n') ? 1 : 0);
}
