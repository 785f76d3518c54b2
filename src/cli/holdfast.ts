#!/usr/bin/env node
/** The command `holdfast`. Looks at the Node version before anything native is loaded, then finds the command. */
const OLDEST = [22, 18] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  console.error(
    `holdfast needs Node ${OLDEST.join('.')} or newer, and this is ${process.versions.node}; install a newer one (https://nodejs.org) and try again`,
  );
  process.exit(1);
}

const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
