import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

/** A script as one file of JavaScript, which Node starts in a fifth of the time that the sources need. */
export interface BundledScript {
  readonly path: string;
  remove(): void;
}

/** How a script is bundled. */
export interface BundleOptions {
  /** Packages that are loaded as they are. */
  readonly external?: readonly string[];
  /**
   * Whether the first process that ends leaves its compiled functions to the later ones: for a script that is started hundreds of times. Node's own
   * compile cache lacks every function that is compiled after a module was loaded. The script must not use `await` at its top level.
   */
  readonly keepsCompiledCode?: boolean;
}

/** Bundles a script that tests start as a process many times. */
export async function bundleScript(
  script: string,
  { external = [], keepsCompiledCode = false }: BundleOptions = {},
): Promise<BundledScript> {
  const root = join(import.meta.dirname, '..', '..');
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'holdfast-'));
  const program = join(folder, keepsCompiledCode ? 'program.cjs' : 'program.mjs');
  await build({
    cwd: root,
    input: script,
    platform: 'node',
    external: [...external],
    logLevel: 'warn',
    output: { file: program, format: keepsCompiledCode ? 'cjs' : 'esm', codeSplitting: false },
  });
  const loader = join(folder, 'load.cjs');
  if (keepsCompiledCode) writeFileSync(loader, LOADER);
  const path = keepsCompiledCode ? loader : program;
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Runs `program.cjs` with the code that an earlier process has compiled. Several processes may end at once, hence the rename. */
const LOADER = `
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { constants, Script } = require('node:vm');
const filename = __dirname + '/program.cjs';
const compiled = __dirname + '/program.compiled';
let cachedData;
try {
  cachedData = readFileSync(compiled);
} catch {}
const source = readFileSync(filename, 'utf8');
const script = new Script('(function (exports, require, module, __filename, __dirname) {' + source + '\\n})', {
  filename,
  cachedData,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER, // for the drivers, which stores import
});
script.runInThisContext()(exports, require, module, filename, __dirname);
if (cachedData === undefined || script.cachedDataRejected) {
  process.on('exit', () => {
    const written = compiled + '.' + process.pid;
    writeFileSync(written, script.createCachedData());
    renameSync(written, compiled);
  });
}
`;
