/** What a package and a lock file must not say about the machine that they were made on. */
import { expect, test } from 'vitest';
import { addressesIn, findLeaks } from '../../scripts/release/find-leaks.ts';
import { folderSizes } from '../../scripts/release/folder-sizes.ts';

const machine = {
  folders: ['/home/ada/holdfast', '/home/ada', '/root', 'C:\\Users\\ada', ''],
  hosts: ['npm.example.org'],
};

test.for([
  ['import("/home/ada/holdfast/src/index.ts")', ['/home/ada/holdfast', '/home/ada']],
  ['// from C:\\Users\\ada\\src', ['C:\\Users\\ada']],
  ['"resolved": "https://npm.example.org/hono"', ['npm.example.org']],
  ['the agent /root/review below /home/grace', []],
  ['', []],
] as const)('%j names %j', ([text, names]) => {
  expect(findLeaks(text, machine)).toEqual(names);
});

test('a lock file names addresses only of packages that are not links', () => {
  const lock = {
    packages: {
      '': { name: 'holdfast' },
      'node_modules/hono': { version: '4.0.0' },
      'node_modules/holdfast-node': { resolved: 'scripts/node', link: true },
      'node_modules/pg': { resolved: 'https://npm.example.org/pg/-/pg-8.0.0.tgz' },
      'node_modules/other': { resolved: 'git+ssh://git@example.org/other.git#1' },
    },
  };
  expect(addressesIn(JSON.stringify(lock))).toEqual([
    'https://npm.example.org/pg/-/pg-8.0.0.tgz',
    'git+ssh://git@example.org/other.git#1',
  ]);
  expect(addressesIn('{}')).toEqual([]);
});

test('files are summed by folder, two levels deep; files at the root stay themselves', () => {
  const files = [
    'README.md',
    'dist/index.js',
    'dist/studio/index.html',
    'dist/studio/assets/a.js',
    'dist/studio/assets/b/c.js',
  ];
  expect(folderSizes(files.map((path) => ({ path, bytes: 10 })))).toEqual([
    { folder: 'README.md', count: 1, bytes: 10 },
    { folder: 'dist/', count: 1, bytes: 10 },
    { folder: 'dist/studio/', count: 3, bytes: 30 },
  ]);
});
