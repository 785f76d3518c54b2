/** Packs the package as `npm publish` would, and reads what is in it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { folderSizes } from './folder-sizes.ts';

export interface PackedFile {
  /** From the root of the package, with slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Packed {
  readonly files: readonly PackedFile[];
  /** Lines to print: how many files and bytes each folder has, and all of it. */
  readonly summary: readonly string[];
}

export function pack(root: string): Packed {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-release-'));
  try {
    const options = ['--json', '--ignore-scripts', '--pack-destination', place];
    const packed = execFileSync('npm', ['pack', ...options], { cwd: root, encoding: 'utf8' });
    const [{ filename, size, unpackedSize }] = JSON.parse(packed) as [PackReport];
    execFileSync('tar', ['-xzf', filename], { cwd: place });
    const files = readdirSync(join(place, 'package'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({
        path: relative(join(place, 'package'), file).replaceAll('\\', '/'),
        text: readFileSync(file, 'utf8'),
      }));
    const total = `${filename}: ${files.length} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} installed`;
    const sizes = folderSizes(files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) })));
    return { files, summary: [...sizes.map(lineOf), total] };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
}

function lineOf({ folder, count, bytes }: ReturnType<typeof folderSizes>[number]): string {
  return `  ${kilobytes(bytes).padStart(10)}  ${folder}${folder.endsWith('/') ? ` (${count} files)` : ''}`;
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1000).toLocaleString('en')} kB`;
}
