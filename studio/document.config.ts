/** How the renderer of exported files is bundled: one module for Node, with React and the style sheet inside. */
import { join } from 'node:path';
import { mergeConfig } from 'vite';
import config from './vite.config.ts';

export default mergeConfig(config, {
  publicDir: false,
  define: { 'process.env.NODE_ENV': '"production"' },
  ssr: { noExternal: true },
  build: {
    ssr: join(import.meta.dirname, 'src/document/render-document.tsx'),
    emptyOutDir: false,
    manifest: false,
    minify: true,
    cssMinify: true,
    rolldownOptions: { output: { entryFileNames: 'document.js', codeSplitting: false } },
  },
});
