import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'rolldown';
import { type Fence, fencesIn, ROOT } from './documents.ts';

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

/** Bundles the sources as the package that programs in this directory import: one file starts in a tenth of the time of hundreds. */
export async function installPackage(directory: string): Promise<void> {
  const place = join(directory, 'node_modules/holdfast');
  const entries = readdirSync(join(ROOT, 'src')).filter((name) => name.endsWith('.ts'));
  await build({
    input: Object.fromEntries(entries.map((name) => [basename(name, '.ts'), join(ROOT, 'src', name)])),
    platform: 'node',
    external: /^[^./]/,
    output: { dir: join(place, 'dist') },
  });
  cpSync(join(ROOT, 'package.json'), join(place, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules/zod'), join(directory, 'node_modules/zod'), 'dir');
}

/**
 * Runs the commands of the fence with the page's programs, in a directory of their own below the one with the package, and with a home
 * that holds one session of Claude Code. Returns the fence as it should be.
 */
export function actualTranscript(directory: string, { page, code }: Fence): string {
  const place = mkdtempSync(join(directory, 'page-'));
  for (const { file, code: program } of fencesIn(page)) {
    if (file !== undefined) writeFileSync(join(place, file), program);
  }
  const home = join(place, 'home');
  cpSync(join(ROOT, 'test/fixtures/claude-code-2.1.325/tools/projects'), join(home, '.claude/projects'), {
    recursive: true,
  });
  const run = ({ args, environment }: Command): string => {
    const env = { ...process.env, FORCE_COLOR: '0', HOME: home, TMPDIR: place, ...environment };
    const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', ...args], {
      cwd: place,
      encoding: 'utf8',
      env,
    });
    return `${stdout}${stderr}`;
  };
  return code
    .split('\n')
    .flatMap((line) => {
      const command = commandIn(line);
      return command ? [`${line}\n${run(command)}`] : [];
    })
    .join('');
}

function commandIn(line: string): Command | undefined {
  const { environment = '', args = '' } = COMMAND.exec(line)?.groups ?? {};
  if (args === '') return undefined;
  const pairs = environment.split(' ').filter((pair) => pair !== '');
  return { environment: Object.fromEntries(pairs.map((pair) => pair.split('='))), args: args.split(' ') };
}
