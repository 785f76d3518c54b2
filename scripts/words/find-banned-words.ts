import { BANNED_IN_NAMES, BANNED_WORDS } from './banned-words.ts';
import { identifiersOf, lineAt, type Prose, proseOfDocument, proseOfSource } from './prose-of.ts';

/** Words of foreign formats and of texts that are sent to models, by the file that contains them. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'src/agents/opencode/opencode-run.ts': ['answer'],
  'src/agents/opencode/opencode-server.ts': ['nobody', 'Nobody', 'Go on'],
  'src/agents/run-open-calls.ts': ['answer'],
  'src/loop/request/finish.ts': ['answer', 'Answer'],
};

/** The banned words in the prose of a file, each as `file:line: "word": use …`. `path` is relative to the repository. */
export function findBannedWords(path: string, content: string): readonly string[] {
  const prose = path.endsWith('.md') ? proseOfDocument(content) : proseOfSource(content, path.startsWith('test/'));
  return prose.flatMap((piece) => bannedIn(path, piece));
}

function bannedIn(path: string, { text, line }: Prose): readonly string[] {
  return BANNED_WORDS.flatMap(({ word, use }) =>
    Array.from(text.matchAll(word))
      .filter(([found]) => !ALLOWED[path]?.includes(found))
      .map(({ 0: found, index }) => `${path}:${line + lineAt(text, index) - 1}: "${found}": use ${use}`),
  );
}

/** Names of foreign formats and of the platform, by the file that contains them. */
const FOREIGN_NAMES: Readonly<Record<string, readonly string[]>> = {
  'src/agents/opencode/opencode-server.ts': ['answers'],
};

/** The banned words in the identifiers of a source of the package or of Studio, each as `file:line: name: use …`. */
export function findBannedNames(path: string, content: string): readonly string[] {
  if (!/^(?:src|studio\/src)\/.*\.tsx?$/.test(path)) return [];
  return identifiersOf(content).flatMap(({ name, words, line }) => {
    if (FOREIGN_NAMES[path]?.includes(name)) return [];
    const banned = BANNED_IN_NAMES.find(({ word }) => words.some((each) => word.test(each)));
    return banned ? [`${path}:${line}: ${name}: use ${banned.use}`] : [];
  });
}
