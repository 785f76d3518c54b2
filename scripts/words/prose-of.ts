/** A piece of prose in a file, and the line that it starts on, from 1. */
export interface Prose {
  readonly text: string;
  readonly line: number;
}

/** Comments, strings, templates and regular expressions of TypeScript, in the order in which a quote or slash can start them. */
const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:;!&|?[{]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])*\//g;

/** A string after this code is a test's title, or the name of a case. */
const BEFORE_TITLE = /(?:\b(?:test|it|describe)(?:\.\w+)*\(|[\w\]})]\)\(|\b(?:name|breaks):)\s*$/;

/** Code in a template or in a comment, and names of files, are not prose. */
const CODE = /\$\{[^}]*\}|`[^`]*`|\b[\w-]+\.(?:ts|md|json)\b/g;

/** The comments and messages of a source; of a test only comments and titles, because its other strings are data. */
export function proseOfSource(source: string, isTest: boolean): readonly Prose[] {
  return Array.from(source.matchAll(TOKEN)).flatMap(({ 0: token, index }) => {
    const isComment = token.startsWith('/*') || token.startsWith('//');
    if (!isComment && !isMessage(token, source.slice(Math.max(0, index - 80), index), isTest)) return [];
    return [{ text: withoutCode(isComment ? token : token.slice(1, -1)), line: lineAt(source, index) }];
  });
}

/** The text of a Markdown document without its code. */
export function proseOfDocument(document: string): readonly Prose[] {
  return [{ text: withoutCode(document.replace(/^( *)```[\s\S]*?^\1```/gm, blanked)), line: 1 }];
}

/** An identifier in the code of a source, and the line that it stands on. */
export interface Identifier {
  readonly name: string;
  /** Its words, in lower case. */
  readonly words: readonly string[];
  readonly line: number;
}

/** The identifiers of a source: its code without comments, strings and imported paths. */
export function identifiersOf(source: string): readonly Identifier[] {
  const code = source.replace(TOKEN, blanked);
  return Array.from(code.matchAll(/[A-Za-z_$][\w$]*/g), ({ 0: name, index }) => ({
    name,
    words: name.split(/_|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).map((word) => word.toLowerCase()),
    line: lineAt(code, index),
  }));
}

/** The line of a position, from 1. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function isMessage(token: string, before: string, isTest: boolean): boolean {
  if (!/^['"`]/.test(token)) return false;
  return /\S\s+\S/.test(token) && (isTest ? BEFORE_TITLE.test(before) : /\S\s+\S+\s+\S/.test(token));
}

function withoutCode(text: string): string {
  return text.replace(CODE, blanked);
}

/** Blanks keep the positions of the lines that follow. */
function blanked(code: string): string {
  return code.replace(/[^\n]/g, ' ');
}
