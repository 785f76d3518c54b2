/** `node --import ./examples/use-sources.ts …`: inside the repository, `holdfast` is its source, which need not be built. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    const [, entry] = /^holdfast(?:\/([\w-]+))?$/.exec(specifier) ?? [];
    const isOurs = specifier === 'holdfast' || entry !== undefined;
    return next(isOurs ? new URL(`../src/${entry ?? 'index'}.ts`, import.meta.url).href : specifier, context);
  },
});
