/**
 * `npm run bench [-- <section> …] [--json]`: measures, prints a table (or one JSON object per figure) and exits non-zero when
 * a figure misses its limit. `import` is also `import-transcripts`.
 */
import { readdirSync } from 'node:fs';
import type { Figure, Section } from './figure.ts';

const NOT_SECTIONS = new Set(['run.ts', 'built-package.ts', 'figure.ts', 'raw-inserts.ts']);
const here = import.meta.dirname;
const available = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !NOT_SECTIONS.has(entry.name))
  .map((entry) => entry.name.slice(0, -'.ts'.length))
  .sort();

const args = process.argv.slice(2);
const json = args.includes('--json');
const asked = args.filter((arg) => !arg.startsWith('--'));
const unknown = asked.filter((name) => !available.includes(name));
if (unknown.length > 0) {
  console.error(`no such section: ${unknown.join(', ')}; there are: ${available.join(', ')}`);
  process.exit(2);
}

const isAsked = (name: string): boolean => asked.some((one) => name === one || name.startsWith(`${one}-`));
let missed = 0;
for (const name of asked.length > 0 ? available.filter(isAsked) : available) {
  const { section } = (await import(`./${name}.ts`)) as { section: Section };
  if (!json) console.log(`\n${section.name}: ${section.about}`);
  for await (const figure of section.run()) {
    if (!figure.holds) missed++;
    print(figure);
  }
}
if (!json) console.log(missed === 0 ? '\nevery figure holds' : `\n${missed} figure(s) miss their bar`);
process.exit(missed === 0 ? 0 : 1);

function print(figure: Figure): void {
  if (json) {
    console.log(JSON.stringify(figure));
    return;
  }
  const mark = figure.limit === undefined ? '·' : figure.holds ? '✓' : '✗';
  const value = String(figure.value).padStart(9);
  const limit = (figure.limit ?? '').padEnd(9);
  console.log(`  ${mark} ${value}  ${limit} ${figure.figure}${figure.note ? `  (${figure.note})` : ''}`);
}
