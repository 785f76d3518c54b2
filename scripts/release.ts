/**
 * `npm run release [-- <version>] [--dry-run] [--skip-check] [--publish]`: makes a release, in two halves (docs/releasing.md).
 *
 *     npm run release -- --dry-run   a clone: checks everything, says what it would do, changes nothing
 *     npm run release                a clone, on main: checks everything, dates the changelog, commits and tags. Publishes nothing
 *     npm run release -- --publish   release.yml, for the pushed tag: checks everything again and publishes with provenance
 *
 * The version is that of package.json unless one is given. Only a dry run may skip `npm run check`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/core/errors.ts';
import { datedChangelog } from './release/changelog.ts';
import { addressesIn, findLeaks, type Machine } from './release/find-leaks.ts';
import { pack } from './release/pack.ts';
import { publishCommand } from './release/publish-command.ts';
import { publishProblems, tagOf, tagProblems } from './release/release-problems.ts';

const ROOT = join(import.meta.dirname, '..');

try {
  process.exitCode = release();
} catch (error) {
  console.error(`npm run release: ${messageOf(error)}`);
  process.exitCode = 1;
}

function release(): number {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean' }, 'skip-check': { type: 'boolean' }, publish: { type: 'boolean' } },
    allowPositionals: true,
  });
  const { 'dry-run': isDryRun = false, 'skip-check': isUnchecked = false, publish: isPublishing = false } = values;
  if (positionals.length > 1) throw new Error(`one version, not ${positionals.length}`);
  if (isUnchecked && !isDryRun) throw new Error('--skip-check is for --dry-run');
  if (isPublishing && isDryRun) throw new Error('--publish or --dry-run, not both');
  const packageVersion = (JSON.parse(read('package.json')) as { readonly version: string }).version;
  const [version = packageVersion] = positionals;

  const problems = [...(isPublishing ? problemsOfPublishing : problemsOfTag)(version, packageVersion)];
  if (problems.length > 0 && !isDryRun) return refuse(version, problems);
  console.log(isUnchecked ? 'npm run check is skipped, so the package is only built' : 'npm run check');
  if (!run('npm', 'run', isUnchecked ? 'build' : 'check')) problems.push('npm run check failed');
  const { files, summary } = pack(ROOT);
  for (const line of summary) console.log(line);
  problems.push(...leaks(files));
  if (problems.length > 0) return refuse(version, problems);

  if (isDryRun) {
    console.log(`\nnpm run release${positionals[0] === undefined ? '' : ` -- ${version}`} would, in this clone`);
    if (version !== packageVersion) console.log(`  set the version of package.json to ${version}`);
    console.log(`  date the section ${version} of CHANGELOG.md and commit it`);
    console.log(`  create the tag ${tagOf(version)}`);
    console.log(`\nand release.yml, after a push of the tag:\n  ${publishCommand(version).join(' ')}`);
    console.log(`To see what that would send:\n  ${publishCommand(version, { isDryRun }).join(' ')}`);
    return 0;
  }
  if (isPublishing) return run(...publishCommand(version)) ? 0 : 1;
  tag(version, packageVersion);
  console.log(
    `\nThe commit and the tag ${tagOf(version)} are made. To publish:\n  git push --atomic origin main ${tagOf(version)}`,
  );
  return 0;
}

/** The pages that say how to install the package, by path. */
function pages(): Readonly<Record<string, string>> {
  const paths = ['README.md', 'docs/install.md', 'docs/first-agent.md'];
  return Object.fromEntries(paths.map((path) => [path, read(path)]));
}

function problemsOfTag(version: string, packageVersion: string): readonly string[] {
  const changelog = read('CHANGELOG.md');
  const tags = git('tag', '--list').split('\n').filter(Boolean);
  const branch = git('branch', '--show-current').trim();
  return tagProblems({ version, packageVersion, branch, tags, changes: changes(), changelog, pages: pages() });
}

function problemsOfPublishing(version: string, packageVersion: string): readonly string[] {
  const changelog = read('CHANGELOG.md');
  const { GITHUB_REF: ref, ACTIONS_ID_TOKEN_REQUEST_URL: identity = '' } = process.env;
  const hasIdentity = identity !== '';
  return publishProblems({ version, packageVersion, ref, hasIdentity, changes: changes(), changelog, pages: pages() });
}

/** What of this machine is in the package or in a lock file. */
function leaks(files: readonly { readonly path: string; readonly text: string }[]): readonly string[] {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { cwd: ROOT, encoding: 'utf8' }).trim();
  const machine: Machine = { folders: [ROOT, realpathSync(ROOT), homedir()], hosts: [new URL(registry).host] };
  const locks = git('ls-files', '*package-lock.json').split('\n').filter(Boolean);
  const inLocks = locks.map((path) => ({ path, text: read(path) }));
  return [
    ...[...files, ...inLocks].flatMap(({ path, text }) =>
      [...new Set(findLeaks(text, machine))].map(
        (name) => `${path} names ${name}, a folder of this machine or its registry`,
      ),
    ),
    ...inLocks.flatMap(({ path, text }) => addressesIn(text).map((address) => `${path} names the address ${address}`)),
  ];
}

/** Dates the changelog, sets the version, commits and tags. */
function tag(version: string, packageVersion: string): void {
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(join(ROOT, 'CHANGELOG.md'), datedChangelog(read('CHANGELOG.md'), version, today));
  if (version !== packageVersion) {
    execFileSync('npm', ['version', version, '--no-git-tag-version', '--ignore-scripts'], { cwd: ROOT });
  }
  git('commit', '--message', `Release ${version}`, '--', 'CHANGELOG.md', 'package.json', 'package-lock.json');
  git('tag', '--annotate', tagOf(version), '--message', version);
}

function refuse(version: string, problems: readonly string[]): number {
  console.error(`\n${version} cannot be released:`);
  for (const problem of problems) console.error(`- ${problem}`);
  return 1;
}

function run(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

function changes(): string {
  return git('status', '--porcelain');
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
