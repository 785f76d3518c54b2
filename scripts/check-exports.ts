/**
 * How many names each entry of the package exports, and the limits that hold for good: a name that is published stays. Part of
 * `npm run check`.
 */
import { publicEntries } from './docs/public-exports.ts';

/** `holdfast` has at most so many values and types; all entries together have at most so many names. */
const LIMITS = { values: 40, types: 110, all: 320 };

const rows = (await publicEntries()).map(({ entry, exports }) => {
  const types = exports.filter(({ kind }) => kind === 'type').length;
  return { entry, values: exports.length - types, types };
});
const all = rows.reduce((sum, { values, types }) => sum + values + types, 0);
for (const { entry, values, types } of rows) console.log(`${entry.padEnd(24)} ${values} values, ${types} types`);
console.log(`${'all'.padEnd(24)} ${all} names`);

const main = rows.find(({ entry }) => entry === 'holdfast');
const problems = [
  main && main.values > LIMITS.values && `holdfast exports ${main.values} values, more than ${LIMITS.values}`,
  main && main.types > LIMITS.types && `holdfast exports ${main.types} types, more than ${LIMITS.types}`,
  all > LIMITS.all && `all entries export ${all} names, more than ${LIMITS.all}`,
].filter((problem) => typeof problem === 'string');
for (const problem of problems) console.error(`${problem}; what users never write is no export`);
if (problems.length > 0) process.exit(1);
