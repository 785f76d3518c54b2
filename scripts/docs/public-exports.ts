import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
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
export async function publicEntries(): Promise<readonly PublicEntry[]> {
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
  return Promise.all(
    files.map(async (file) => {
      const loaded = (await import(pathToFileURL(file).href)) as object;
      return { entry: entryName(file), exports: exportsOf(program, file, new Set(Object.keys(loaded))) };
    }),
  );
}

function entryName(file: string): string {
  const name = basename(file, '.ts');
  return name === 'index' ? 'holdfast' : `holdfast/${name}`;
}

/** `values` are the names that exist at runtime; a class may be exported as a type alone. */
function exportsOf(program: ts.Program, file: string, values: ReadonlySet<string>): readonly PublicExport[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} exports nothing`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => describe(checker, symbol, values.has(symbol.name)))
    .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

function describe(checker: ts.TypeChecker, symbol: ts.Symbol, isValue: boolean): PublicExport {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const text = ts.displayPartsToString(target.getDocumentationComment(checker));
  return { name: symbol.name, kind: isValue ? kindOf(target.flags) : 'type', summary: firstSentence(text) };
}

function kindOf(flags: ts.SymbolFlags): PublicExport['kind'] {
  if (flags & ts.SymbolFlags.Function) return 'function';
  return flags & ts.SymbolFlags.Class ? 'class' : 'constant';
}

/** Up to the first full stop that ends a sentence, outside code and parentheses, without the codes of decisions. */
function firstSentence(text: string): string {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/);
  const line = paragraph.replace(/\s*\n\s*/g, ' ');
  const [sentence = line] = /^(?:`[^`]*`|\([^)]*\)|[^`(.]|\.(?!\s|$))*\./.exec(line) ?? [];
  return sentence.replace(/ \([DI]\d+(?:, [DI]\d+)*\)/g, '').trim();
}
