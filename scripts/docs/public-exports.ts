import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
// TypeScript 7 has no stable API; the consumers' tests bring TypeScript 6.
import ts from '../../test/consumers/typescript-6/node_modules/typescript/lib/typescript.js';

/** One name that an entry of the package exports. */
export interface PublicExport {
  readonly name: string;
  readonly kind: 'function' | 'class' | 'constant' | 'type';
  /** The first sentence of its TSDoc; empty without one. */
  readonly summary: string;
}

/** An entry of the package, such as `holdfast/sqlite`, and what it exports, sorted by name. */
export interface PublicEntry {
  readonly entry: string;
  readonly exports: readonly PublicExport[];
}

const SOURCES = join(import.meta.dirname, '../../src');

/** Every file directly in `src` is an entry of the package: reads what each of them exports, with the compiler. */
export function publicEntries(): readonly PublicEntry[] {
  const files = readdirSync(SOURCES)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(SOURCES, name));
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    noLib: true, // names and comments need no library
    types: [],
  });
  const checker = program.getTypeChecker();
  return files.map((file) => ({
    entry: entryName(file),
    exports: exportsOf(program, checker, file),
  }));
}

function entryName(file: string): string {
  const name = basename(file, '.ts');
  return name === 'index' ? 'holdfast' : `holdfast/${name}`;
}

function exportsOf(program: ts.Program, checker: ts.TypeChecker, file: string): readonly PublicExport[] {
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} exports nothing`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => describe(checker, symbol))
    .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

function describe(checker: ts.TypeChecker, symbol: ts.Symbol): PublicExport {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const text = ts.displayPartsToString(target.getDocumentationComment(checker));
  return { name: symbol.name, kind: kindOf(target.flags), summary: firstSentence(text) };
}

function kindOf(flags: ts.SymbolFlags): PublicExport['kind'] {
  if (flags & ts.SymbolFlags.Function) return 'function';
  if (flags & ts.SymbolFlags.Class) return 'class';
  return flags & ts.SymbolFlags.Variable ? 'constant' : 'type';
}

/** Up to the first full stop, or to the colon of a list, that ends a sentence outside code and parentheses. */
function firstSentence(text: string): string {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/);
  const line = paragraph.replace(/\s*\n\s*/g, ' ');
  const [sentence = line] = /^(?:`[^`]*`|\([^)]*\)|[^`(.]|\.(?!\s|$))*\./.exec(line) ?? [];
  return sentence.trim();
}
