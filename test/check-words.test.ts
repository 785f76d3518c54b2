/** The check of the glossary's terms, which `npm run check` runs on the repository (scripts/check-words.ts). */
import { describe, expect, test } from 'vitest';
import { findBannedNames, findBannedWords } from '../scripts/words/find-banned-words.ts';

const RESPONSE = 'use response (of a model), result (of a call), return, respond';

describe('a banned word is reported with its line and the term to use', () => {
  test.for([
    ['in a comment', 'src/a.ts', '\n// The answer of a model.\n'],
    ['in a later line of a comment', 'src/a.ts', '/**\n * The answer of a model.\n */'],
    ['in an error message', 'src/a.ts', '\nthrow new Error("the answer is missing");'],
    ['in a template, beside its values', 'src/a.ts', `\nconst text = \`the answer of \${model} is missing\`;`],
    ['after a regular expression with a quote', 'src/a.ts', "const quote = /['`]/;\n// The answer of a model."],
    ['in the title of a test', 'test/a.test.ts', "\ntest('an answer is recorded', () => {});"],
    ['in the title of a test with cases', 'test/a.test.ts', "\ntest.for(cases)('an answer is recorded', () => {});"],
    ['in the name of a case', 'test/a.test.ts', "\nconst one = { name: 'an answer first' };"],
    ['in a document', 'docs/a.md', '# Title\nThe answer of a model.'],
    ['after code in a document', 'docs/a.md', '```ts\n```\nThe answer of a model.'],
  ] as const)('%s', ([what, path, content]) => {
    const line = what.startsWith('after code') ? 3 : 2;
    expect(findBannedWords(path, content)).toEqual([`${path}:${line}: "answer": ${RESPONSE}`]);
  });

  test('each word of a piece of prose is reported', () => {
    expect(findBannedWords('src/a.ts', '// Nobody tells\n').map((problem) => problem.split('"')[1])).toEqual([
      'tells',
      'Nobody',
    ]);
  });
});

describe('a banned word is accepted', () => {
  test.for([
    ['as an identifier', 'src/a.ts', 'const answer = 1;'],
    ['as code in a comment', 'src/a.ts', '// Reads `answer`.'],
    ['as a value in a message', 'src/a.ts', `const text = \`the result of \${answer} is missing\`;`],
    ['as a value of one or two words', 'src/a.ts', "const type = 'answer';"],
    ['as data of a test', 'test/a.test.ts', "expect(text).toBe('This is the answer of a model.');"],
    [
      'as code in a document',
      'docs/a.md',
      'Reads `answer`.\n\n```ts\nconst answer = 1; // the answer of a model\n```\n',
    ],
    ['as a part of another word', 'src/a.ts', '// The answerable, amended, retold, hearts.'],
  ] as const)('%s', ([, path, content]) => {
    expect(findBannedWords(path, content)).toEqual([]);
  });
});

describe('a name of the sources', () => {
  test.for([
    ['with a banned word', 'src/a.ts', '\nconst lastAnswer = 1;', 'lastAnswer: use response, result, respond'],
    [
      'of capitals with a banned word',
      'src/a.ts',
      '\nconst ANSWER_AS_JSON = 1;',
      'ANSWER_AS_JSON: use response, result, respond',
    ],
    ['of a private method', 'studio/src/a.tsx', '\nthis.#say();', 'say: use text, message, state'],
  ] as const)('%s is reported', ([, path, content, problem]) => {
    expect(findBannedNames(path, content)).toEqual([`${path}:2: ${problem}`]);
  });

  test.for([
    ['in a text', 'src/a.ts', "const type = 'answer';"],
    ['in a comment', 'src/a.ts', '// Reads `answer`.'],
    ['as a part of another word', 'src/a.ts', 'const retold = answerable;'],
    ['of a test', 'test/a.test.ts', 'const answer = 1;'],
    ['of a foreign format', 'src/agents/opencode/opencode-server.ts', 'await reply({ answers });'],
  ] as const)('is not reported for a banned word %s', ([, path, content]) => {
    expect(findBannedNames(path, content)).toEqual([]);
  });
});
