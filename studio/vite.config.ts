/** How Studio is bundled. `npm run dev` serves it while it is changed (`dev-server.ts`). */
import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

const source = join(import.meta.dirname, '../src');

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
});
