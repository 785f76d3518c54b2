/** How Studio is bundled. `npx vite studio` serves it while it is changed; STUDIO_SERVER is the Holdfast server behind it. */
import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

const source = join(import.meta.dirname, '../src');
const server = process.env.STUDIO_SERVER ?? 'http://127.0.0.1:3000';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  logLevel: 'warn',
  plugins: [tailwindcss()],
  resolve: {
    alias: {
      'holdfast/conversation': join(source, 'conversation.ts'),
      'holdfast/react': join(source, 'react.ts'),
      // Its variant for browsers decodes `&amp;` with innerHTML, which Trusted Types refuse.
      'decode-named-character-reference': join(
        import.meta.dirname,
        '../node_modules/decode-named-character-reference/index.js',
      ),
    },
  },
  build: {
    target: 'es2024',
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    emptyOutDir: true,
    manifest: true,
    chunkSizeWarningLimit: 1000,
    // Packages for React mark their files with a directive that means nothing in a bundle.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  server: { proxy: { '^/(sessions|search|inbox|totals|workers|compare|openapi.json)': { target: server } } },
});
