/** Shiki with its JavaScript engine and few grammars: no WebAssembly, no evaluated code, no style attributes. */
import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

/** A piece of code and the class of its colour. */
export interface CodeToken {
  readonly text: string;
  readonly className: string;
}

const LANGUAGES: Readonly<Record<string, () => LanguageInput>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
};

const ALIASES: Readonly<Record<string, string>> = {
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  console: 'bash',
  ts: 'tsx',
  js: 'tsx',
  jsx: 'tsx',
  mjs: 'tsx',
  cjs: 'tsx',
  mts: 'tsx',
  typescript: 'tsx',
  javascript: 'tsx',
  py: 'python',
  rs: 'rust',
  golang: 'go',
  jsonl: 'json',
  json5: 'json',
  yml: 'yaml',
  htm: 'html',
  xml: 'html',
  svg: 'html',
};

const THEME = 'holdfast';
let highlighter: Promise<HighlighterCore> | undefined;

/** The lines of a text as tokens; undefined for a language without a grammar here. */
export async function tokensOf(code: string, language: string): Promise<readonly (readonly CodeToken[])[] | undefined> {
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  const load = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (!load) return undefined;
  highlighter ??= createHighlighterCore({
    engine: createJavaScriptRegexEngine({ forgiving: true }),
    themes: [createCssVariablesTheme({ name: THEME, variablePrefix: '--code-' })],
  });
  const shiki = await highlighter;
  await shiki.loadLanguage(load());
  return shiki
    .codeToTokensBase(code, { lang: name, theme: THEME })
    .map((line) => line.map(({ content, color = '' }) => ({ text: content, className: classOf(color) })));
}

/** `var(--code-token-keyword)` is the class `code-keyword`; the usual colour has none. */
function classOf(colour: string): string {
  const [, name] = /--code-token-([\w-]+)/.exec(colour) ?? [];
  return name === undefined ? '' : `code-${name}`;
}
