/**
 * `node scripts/crash-matrix.ts`: runs the crash matrix, publishes its summary as docs/crash-matrix.md and writes every cell to
 * crash-matrix-cells.md, which is not committed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cell, childRunner, reportOf, runScenario } from '../test/crash/matrix.ts';
import { SCENARIOS } from '../test/crash/scenarios.ts';
import { bundleScript } from '../test/support/bundle.ts';

const root = join(import.meta.dirname, '..');
const child = await bundleScript(join(root, 'test', 'crash', 'child.ts'), { keepsCompiledCode: true });
const cells: Cell[] = [];
try {
  for (const scenario of SCENARIOS)
    cells.push(...(await runScenario(scenario, childRunner(child.path), { random: () => 0 })));
} finally {
  child.remove();
}

const marks = { equal: '=', 'equal after settling': 's', WRONG: '✗' } as const;
const sections = SCENARIOS.map(({ name }) => {
  const own = cells.filter((cell) => cell.scenario === name);
  const once = own.filter((cell) => cell.killedAt.length === 1);
  const twice = own.filter((cell) => cell.killedAt.length === 2);
  const rows = once.map((cell, i) => `| ${i + 1} | ${cell.killedAt[0]} | ${marks[cell.outcome]} |`);
  const again = [...new Set(twice.map((cell) => cell.killedAt[0]))].map((base) => {
    const line = twice.filter((cell) => cell.killedAt[0] === base).map((cell) => marks[cell.outcome]);
    return `Killed at *${base}*, and again at each point of the resume: \`${line.join('')}\``;
  });
  return [`## ${name}`, '', '| # | killed at | ends |', '| --- | --- | --- |', ...rows, '', again.join('\n\n')].join(
    '\n',
  );
});

writeFileSync(
  join(root, 'docs', 'crash-matrix.md'),
  `# The crash matrix

Every scenario is run once without a crash, and every point that it passes through is recorded: both sides of every write to the
store, both sides of every effect outside the process, every part of the model's stream. Then, for each point, a real process is
killed there with SIGKILL and a new one resumes; for two points of each scenario the
resume is killed at each of its own points, too.

A cell holds when three things are true: the resumed conversation equals that of the uninterrupted run, no tool ran again for a call
that had its result, and a \`once\` tool ran at most once. \`=\` means that the cell holds. \`s\` means that it holds after a person settled
a call whose outcome could not be known (a \`once\` tool without \`reconcile\`). \`✗\` would mean that it does not hold. \`npm run test:crash\`
runs all cells; \`node scripts/crash-matrix.ts\` writes this page, and every cell with the point of its kill
to \`crash-matrix-cells.md\`, which is not committed.

\`\`\`
${reportOf(cells)}
\`\`\`
`,
);
writeFileSync(join(root, 'crash-matrix-cells.md'), `# Every cell of the crash matrix\n\n${sections.join('\n\n')}\n`);
console.log(reportOf(cells));
process.exit(cells.some((cell) => cell.outcome === 'WRONG') ? 1 : 0);
