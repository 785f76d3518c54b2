/** Builds dist unless it was built from the present sources: `npm run check`, the tests of the package and the benches need it, and a build takes a while. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hashOfSources } from '../studio/build.ts';

const root = join(import.meta.dirname, '..');
const stamp = join(root, 'node_modules', '.cache', 'holdfast-dist');
const demo = readdirSync(join(root, 'examples/demo'), { encoding: 'utf8' }).map((file) => `examples/demo/${file}`);
const hash = hashOfSources('scripts/build.ts', 'tsconfig.build.json', 'tsconfig.json', ...demo.sort());

const isBuilt = existsSync(join(root, 'dist/index.js')) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
if (!isBuilt) {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, stdio: 'inherit' });
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}
