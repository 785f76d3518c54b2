import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { POINTS } from '../support/random.ts';
import { bareMachine, npm, ROOT, runTests, temporaryDirectory } from './places.ts';
import type { Runtime } from './set-up-runtimes.ts';

const { runtimes, tarball } = { runtimes: inject('runtimes'), tarball: inject('tarball') };

/** The versions that this platform has. */
function installed(...versions: Runtime[]): readonly (readonly [Runtime, string])[] {
  return versions.flatMap((version) => {
    const node = runtimes[version];
    return node === undefined ? [] : [[version, node] as const];
  });
}

/** A user's project with the packed package in its lock file. */
function project(): string {
  const directory = temporaryDirectory();
  writeFileSync(
    join(directory, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: { holdfast: `file:${tarball}` } }),
  );
  execFileSync(...npm('install', '--package-lock-only', '--ignore-scripts'), { cwd: directory, stdio: 'pipe' });
  writeFileSync(
    join(directory, 'open.js'),
    `import { openSession } from 'holdfast';
     import { sqliteStore } from 'holdfast/sqlite';
     try {
       const store = await sqliteStore('agent.db');
       const session = await openSession({ store, id: 'first' });
       await session.append([{ type: 'note/added', text: 'kept' }]);
       const holder = { id: 'x', host: 'h', pid: process.pid, startedAt: '0' };
       const { lease } = await store.acquireLease('first', { holder, ttlMs: 30000 });
       const keeper = store.keepLease('first', lease.fence, { ttlMs: 30000, onLost() {} });
       await keeper.renew();
       keeper.stop();
       await store.close();
       const again = await openSession({ store: await sqliteStore('agent.db'), id: 'first' });
       for await (const event of again.events()) console.log('read', event.type, event.text);
     } catch (error) {
       console.log(error.name, error.code, error.message);
     }`,
  );
  return directory;
}

/** What depends on the SQLite and the processes of a Node. */
const FILES = ['conformance', 'kill', 'leases', 'old-databases', 'sqlite-'].map((name) => `test/stores/${name}`);

describe('the store suite, the kill test and the crash matrix pass (D72)', () => {
  test.for(installed('22.23.2', '24.15.0'))('on Node %s', async ([version, node]) => {
    console.log(`Node ${version}: stores and crash matrix`);
    const { code, output } = await runTests(node, ...FILES, 'test/crash');
    const failed = output.split('\n').filter((line) => /FAIL|Error|ExperimentalWarning: SQLite/.test(line));
    expect(output.slice(-4000)).toMatch(/Tests.*passed/);
    expect([code, output.includes('ExperimentalWarning: SQLite')], failed.join('\n')).toEqual([0, false]);
  });
});

describe('the packed package, installed with npm ci on a machine without Python and compiler', () => {
  test('opens a store on every supported Node', async () => {
    const versions = installed('22.23.2', '24.15.0', '24.21.0', '26.10.0');
    const directory = project();
    for (const [index, [version, node]] of versions.entries()) {
      const machine = bareMachine(node);
      // What is installed does not depend on the Node, so that the oldest installs it for all of them.
      if (index === 0) expect(await machine.run(directory, 'npm', 'ci')).toMatchObject({ code: 0 });
      const { code, output } = await machine.run(directory, 'node', 'open.js');
      expect({ version, code, output }).toEqual({ version, code: 0, output: 'read note/added kept\n' });
      for (const name of readdirSync(directory)) if (name.startsWith('agent.db')) rmSync(join(directory, name));
    }
    expect(versions.length).toBeGreaterThan(0);
  });

  test.for(installed('20.20.2', '24.10.0'))('prints what to update to on Node %s (D71)', async ([version, node]) => {
    const directory = project();
    const machine = bareMachine(node);
    expect(await machine.run(directory, 'npm', 'ci')).toMatchObject({ code: 0 });
    const sentence = version.startsWith('20')
      ? `node v${version} has no built-in SQLite; update Node to 22.23, 24.15, 26 or newer`
      : `node v${version} has SQLite 3.50.4, which can corrupt a database that two connections write to; update Node to 22.23, 24.15, 26 or newer`;
    const opened = await machine.run(directory, 'node', '--no-warnings', 'open.js');
    expect(opened).toEqual({ code: 0, output: `HoldfastError RUNTIME_UNSUPPORTED ${sentence}\n` });
    const command = await machine.run(directory, 'npx', 'holdfast', 'demo');
    expect(command).toEqual({ code: 1, output: `holdfast: ${sentence} (RUNTIME_UNSUPPORTED)\n` });
  });
});

describe('a clean clone on a machine without Python and compiler', () => {
  // The scripts bring a Node of their own, so that the one of the machine runs npm alone: the oldest shows it, and each night the newest, too.
  const versions = POINTS === 'all' ? installed('20.20.2', '26.10.0') : installed('20.20.2');
  test.for(versions)('installs, starts and stays clean on Node %s', async ([, node]) => {
    const clone = join(temporaryDirectory(), 'clone');
    execFileSync('git', ['clone', '--quiet', ROOT, clone]);
    const machine = bareMachine(node);
    const install = await machine.run(clone, 'npm', 'install');
    expect(install).toMatchObject({ code: 0 });
    // Apart from npm's own warning on a Node below the minimum, there should be no warnings.
    expect(
      install.output.split('\n').filter((line) => /warn|error|deprecat/i.test(line) && !/EBADENGINE/.test(line)),
    ).toEqual([]);
    const start = await machine.run(clone, 'npm', 'start');
    expect(start.output).toContain('executed');
    expect(start.code).toBe(0);
    expect(execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' })).toBe('');
  });
});
