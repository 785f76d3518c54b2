/** Splits a command line as a POSIX shell does, without expansions; `undefined` when a quotation does not end. */
export function splitWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let i = 0; i < line.length; i++) {
    const letter = line[i] as string;
    if (letter === "'") {
      const end = line.indexOf("'", i + 1);
      if (end < 0) return undefined;
      word = (word ?? '') + line.slice(i + 1, end);
      i = end;
    } else if (letter === '"') {
      const quoted = /"((?:[^"\\]|\\[\s\S])*)"/y;
      quoted.lastIndex = i;
      const found = quoted.exec(line);
      if (found === null) return undefined;
      word = (word ?? '') + (found[1] as string).replace(/\\([$`"\\])/g, '$1').replaceAll('\\\n', '');
      i = quoted.lastIndex - 1;
    } else if (letter === '\\') {
      word = (word ?? '') + (line[++i] ?? '');
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + letter;
  }
  return word === undefined ? words : [...words, word];
}
