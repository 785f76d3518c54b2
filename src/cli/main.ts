import { isHoldfastError, messageOf } from '../core/errors.ts';
import { printable, printableLine } from './printable.ts';

/** A command: one file each, loaded on demand. */
export interface Command {
  readonly usage: string;
  /** The exit code. */
  run(args: readonly string[]): Promise<number>;
}

const COMMANDS: Readonly<Record<string, { readonly about: string; readonly load: () => Promise<Command> }>> = {
  curate: {
    about: 'show what a history manager would have sent for a stored conversation',
    load: async () => (await import('./curate.ts')).curate,
  },
  demo: {
    about: 'watch an agent that is killed twice and still finishes its job',
    load: async () => (await import('./demo.ts')).demo,
  },
  migrate: {
    about: 'create or update the tables of a PostgreSQL store',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  studio: {
    about: 'open Studio for a database, or for the sessions of Claude Code, Codex and OpenCode',
    load: async () => (await import('./studio.ts')).studio,
  },
  worker: {
    about: 'run the sessions of a store that have work',
    load: async () => (await import('./worker.ts')).worker,
  },
};

/** Runs the command that the arguments name. Returns the exit code: 1 when the command fails, 2 when its arguments are wrong. */
export async function main(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (name === '--version' || name === '-v') {
    console.log(await version());
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    const asked = ['help', '--help', '-h'].includes(name);
    (asked ? console.log : console.error)(
      asked ? help() : `holdfast: there is no command "${printableLine(name)}"\n\n${help()}`,
    );
    return asked ? 0 : 2;
  }
  // This process is ours, so Node may keep its compiled code for the next one. A library leaves that to its program.
  process.getBuiltinModule('node:module').enableCompileCache?.();
  const { run, usage } = await command.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(usage);
    return 0;
  }
  try {
    return await run(rest);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')) {
      console.error(`holdfast ${name}: ${printable(messageOf(error))}\n\n${usage}`);
      return 2;
    }
    if (!isHoldfastError(error) && !isSystemError(error)) throw error;
    console.error(`holdfast ${name}: ${printable(error.message)} (${error.code})`);
    return 1;
  }
}

/** Whether it is an error of the system, such as a directory that cannot be written: its own message is enough. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'errno' in error && 'syscall' in error;
}

async function version(): Promise<string> {
  const { readFileSync } = await import('node:fs');
  const { join } = await import('node:path');
  const file = join(import.meta.dirname, '..', '..', 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  holdfast ${name.padEnd(width)}  ${about}`);
  return [
    'holdfast: durable conversation state for LLM agents',
    '',
    ...lines,
    '',
    'holdfast <command> --help prints its usage; holdfast --version prints the version.',
  ].join('\n');
}
