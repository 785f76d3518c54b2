import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fence, fencesIn, ROOT, withSources } from './documents.ts';

/** A command of a `text` fence, such as `$ CRASH=1 node pay.mts`, and what the page says that it prints. */
interface Command {
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const COMMAND = /^\$ (?<environment>(?:[A-Z_]+=\S+ )*)node (?<args>.+)$/;

/** The fences of a page that show commands and what they print. */
export function transcriptsIn(page: string): readonly Fence[] {
  return fencesIn(page).filter(({ language, code }) => language === 'text' && code.startsWith('$ '));
}

/** The files that a transcript runs. */
export function filesRunBy({ code }: Fence): readonly string[] {
  return code.split('\n').flatMap((line) => commandIn(line)?.args.slice(0, 1) ?? []);
}

/**
 * Runs the commands of the fence with the page's programs, in a directory of their own and with a home that holds one session of
 * Claude Code; returns the fence as it should be.
 */
export function actualTranscript(directory: string, { page, code }: Fence): string {
  const place = mkdtempSync(join(directory, 'page-'));
  for (const { file, code: program } of fencesIn(page)) {
    if (file !== undefined) writeFileSync(join(place, file), withSources(program));
  }
  const home = join(place, 'home');
  cpSync(join(ROOT, 'test/fixtures/claude-code-2.1.325/tools/projects'), join(home, '.claude/projects'), {
    recursive: true,
  });
  return code
    .split('\n')
    .flatMap((line) => {
      const command = commandIn(line);
      if (!command) return [];
      const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', ...command.args], {
        cwd: place,
        encoding: 'utf8',
        env: { ...process.env, HOME: home, TMPDIR: place, ...command.environment },
      });
      return [`${line}\n${stdout}${stderr}`];
    })
    .join('');
}

function commandIn(line: string): Command | undefined {
  const { environment = '', args = '' } = COMMAND.exec(line)?.groups ?? {};
  if (args === '') return undefined;
  const pairs = environment.split(' ').filter((pair) => pair !== '');
  return { environment: Object.fromEntries(pairs.map((pair) => pair.split('='))), args: args.split(' ') };
}
