#!/usr/bin/env node
/** The command `holdfast`. Checks the runtime before it loads anything else, then runs the command. */
import { isHoldfastError } from '../core/errors.ts';
import { checkRuntime } from '../stores/sqlite/driver.ts';

try {
  checkRuntime();
} catch (error) {
  if (!isHoldfastError(error)) throw error;
  console.error(`holdfast: ${error.message} (${error.code})`);
  process.exit(1);
}

// The program that reads our output has ended (`holdfast demo | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(1);
});

const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
