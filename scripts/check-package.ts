/**
 * Checks the package as users get it: packs it, installs it into an empty directory, and checks there that
 *
 * - every entry loads without optional peers (`holdfast/react` with React), and `holdfast/conversation` and it load no module of Node
 * - the command runs, the demo's advice is for users who installed the package, and Studio is served
 * - every entry, and programs that rely on narrowing, compile with `skipLibCheck: false` under every supported TypeScript
 *   (`test/consumers`), with and without the Claude Agent SDK
 * - every link of a shipped document leads to a shipped file
 * - no shipped file names a source map
 *
 * Prints one line for each problem and exits non-zero if there is one. `npm run check` builds first.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { brokenLinks } from './package/broken-links.ts';
import { typeErrors } from './package/type-errors.ts';

/** Rejects every module of Node while the entry loads. */
const WITHOUT_NODE = `
import { registerHooks } from 'node:module';
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('node:')) throw new Error(specifier + ' is imported by ' + context.parentURL);
    return next(specifier, context);
  },
});
await import('holdfast/conversation');
await import('holdfast/react');
`;

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');
const place = mkdtempSync(join(tmpdir(), 'holdfast-package-'));
try {
  const { installed, entries } = await install();
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
  const problems = [
    ...brokenLinks(installed, files),
    ...files.filter((file) => isMapped(join(installed, file))).map((file) => `${file}: names a source map`),
    ...(await loadingProblems(entries)),
    ...(await typeErrors(root, place, entries)),
  ];
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  rmSync(place, { recursive: true, force: true });
}

async function install(): Promise<{ readonly installed: string; readonly entries: readonly string[] }> {
  const packed = await execute('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(packed.stdout) as [{ readonly filename: string }];
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await execute('npm', ['install', ...options, join(place, filename)], { cwd: place });
  mkdirSync(join(place, 'node_modules', '@types'), { recursive: true });
  symlinkSync(join(root, 'node_modules', '@types', 'node'), join(place, 'node_modules', '@types', 'node'), 'junction');
  for (const peer of ['react', '@types/react', 'csstype']) linkPackage(peer); // what `holdfast/react` cannot load and compile without
  const installed = join(place, 'node_modules', 'holdfast');
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const entries = Object.keys(exports)
    .filter((path) => !path.endsWith('.json'))
    .map((path) => path.replace('.', 'holdfast'));
  return { installed, entries };
}

function linkPackage(name: string): void {
  symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name), 'junction');
}

function isMapped(path: string): boolean {
  return /\.[cm]?[jt]s$/.test(path) && /^\/\/# sourceMappingURL=/m.test(readFileSync(path, 'utf8'));
}

async function loadingProblems(entries: readonly string[]): Promise<readonly string[]> {
  const scripts = [
    ...entries.map((entry) => [entry, `await import('${entry}')`] as const),
    ['holdfast/conversation or holdfast/react without Node', WITHOUT_NODE] as const,
  ];
  const problems: string[] = [];
  for (const [what, script] of scripts) {
    const run = execute(process.execPath, ['--input-type=module', '--eval', script], { cwd: place });
    await run.catch(({ stderr }: { readonly stderr: string }) => problems.push(`${what} does not load: ${stderr}`));
  }
  const command = join(place, 'node_modules', '.bin', 'holdfast');
  const { stdout, stderr } = await execute(command, ['demo', '--dir', join(place, 'demo')]).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error,
  );
  if (!stdout.includes('npx holdfast demo --model')) problems.push(`holdfast demo: ${stdout}${stderr}`);
  else problems.push(...(await studioProblems(command, join(place, 'demo', 'killed', 'agent.db'))));
  return problems;
}

/** Serves Studio for a database, and loads its page and every file that the page names. */
async function studioProblems(command: string, database: string): Promise<readonly string[]> {
  const studio = spawn(command, ['studio', database, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for await (const line of createInterface({ input: studio.stdout })) {
      const [address] = /http:\S+/.exec(line) ?? [];
      if (address !== undefined) return await pageProblems(address);
    }
    return ['holdfast studio ended before it listened'];
  } finally {
    const ended = once(studio, 'close');
    studio.kill();
    await ended;
  }
}

async function pageProblems(address: string): Promise<readonly string[]> {
  const html = await (await fetch(address)).text();
  const files = Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, file = '']) => new URL(file, address));
  if (files.length === 0) return [`the page of Studio names no files: ${html}`];
  const responses = await Promise.all(files.map((file) => fetch(file)));
  return responses.filter(({ ok }) => !ok).map(({ url, status }) => `Studio: ${url} is ${status}`);
}
