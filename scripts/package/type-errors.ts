import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLAUDE, CLAUDE_SDK, EVENTS } from './consumer-programs.ts';

const execute = promisify(execFile);

/** A project that imports every entry of the package, by its compiler options. */
interface Consumer {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Further files, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Only the last one has an optional peer. `AbortSignal` comes from Node's types or from the DOM's; entries with a signal need one of them. */
const CONSUMERS: readonly Consumer[] = [
  {
    name: 'node',
    options: { module: 'nodenext', moduleResolution: 'nodenext', lib: ['es2022'], types: ['node'] },
    files: { 'events.ts': EVENTS },
  },
  {
    name: 'browser',
    options: { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom', 'dom.iterable'], types: [] },
    files: {},
  },
  {
    name: 'claude',
    options: {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      lib: ['es2022'],
      types: ['node'],
      paths: { '@anthropic-ai/claude-agent-sdk': ['./sdk.d.ts'] },
    },
    files: { 'claude.ts': CLAUDE, 'sdk.d.ts': CLAUDE_SDK },
  },
];

/** The errors of each supported TypeScript for projects in `place`, where the package is installed. */
export async function typeErrors(root: string, place: string, entries: readonly string[]): Promise<readonly string[]> {
  const projects = CONSUMERS.map((consumer) => writeProject(place, consumer, entries));
  const runs = compilersIn(root).flatMap((compiler) =>
    projects.map(async (project): Promise<readonly string[]> => {
      try {
        await execute(process.execPath, [compiler, '-p', project], { cwd: place });
        return [];
      } catch (error) {
        const { stdout = '' } = error as { readonly stdout?: string };
        return [`${compiler} in ${project}:\n${stdout || String(error)}`];
      }
    }),
  );
  return (await Promise.all(runs)).flat();
}

/** The repository's own TypeScript, and those of `test/consumers/typescript-…`. */
function compilersIn(root: string): readonly string[] {
  const consumers = join(root, 'test', 'consumers');
  const names = readdirSync(consumers).filter((name) => name.startsWith('typescript-'));
  const others = names.map((name) => join(consumers, name));
  return [root, ...others].map((project) => join(project, 'node_modules', 'typescript', 'bin', 'tsc'));
}

function writeProject(place: string, { name, options, files }: Consumer, entries: readonly string[]): string {
  const project = join(place, name);
  mkdirSync(project);
  const source = entries.map((entry, i) => `export * as entry${i} from '${entry}';\n`).join('');
  writeFileSync(join(project, 'index.ts'), source);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
  const compilerOptions = { target: 'es2022', strict: true, skipLibCheck: false, noEmit: true, ...options };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  return project;
}
