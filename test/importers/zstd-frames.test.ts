import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endsWithItsLastFrame } from '../../src/importers/codex/compressed-file.ts';
import { folder } from './places.ts';

async function isWhole(content: Uint8Array): Promise<boolean> {
  const path = join(folder(), 'file.zst');
  await writeFile(path, content);
  const handle = await open(path);
  try {
    return await endsWithItsLastFrame(handle, content.length);
  } finally {
    await handle.close();
  }
}

const { ZSTD_c_checksumFlag, ZSTD_c_contentSizeFlag } = zlib.constants;
const content = fc.oneof(
  fc.string({ maxLength: 2000 }),
  fc.integer({ min: 0, max: 400_000 }).map((length) => 'a'.repeat(length)),
  fc.integer({ min: 0, max: 30_000 }).map((count) => Array.from({ length: count }, (_, n) => Math.sin(n)).join()),
);
const options = fc.record({ checksum: fc.constantFrom(0, 1), size: fc.constantFrom(0, 1) });
const compressed = ([text, { checksum, size }]: readonly [string, { checksum: number; size: number }]): Buffer =>
  zlib.zstdCompressSync(text, { params: { [ZSTD_c_checksumFlag]: checksum, [ZSTD_c_contentSizeFlag]: size } });

test('a compressed file is whole, also one of several frames; cut anywhere inside a frame it is not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(content, options), { minLength: 1, maxLength: 3 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      async (parts, at) => {
        const frames = parts.map(compressed);
        const whole = Buffer.concat(frames);
        expect(await isWhole(whole)).toBe(true);
        const last = frames.at(-1)?.length ?? 0;
        const cut = whole.length - last + 1 + Math.floor(at * (last - 1));
        expect(await isWhole(whole.subarray(0, cut))).toBe(cut === whole.length);
      },
    ),
    { numRuns: 60 },
  );
});
