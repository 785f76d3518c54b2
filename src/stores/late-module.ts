import { HoldfastError } from '../core/errors.ts';

/**
 * Node's modules that a program needs late or never, and those whose import loads more than they need: an `import` reads every export,
 * and those of `node:fs`, `node:util` and `node:http` load streams, parsers and a whole HTTP client when they are read.
 */
interface LateModules {
  readonly 'node:buffer': typeof import('node:buffer');
  readonly 'node:child_process': typeof import('node:child_process');
  readonly 'node:crypto': typeof import('node:crypto');
  readonly 'node:fs': typeof import('node:fs');
  readonly 'node:fs/promises': typeof import('node:fs/promises');
  readonly 'node:http': typeof import('node:http');
  readonly 'node:os': typeof import('node:os');
  readonly 'node:util': typeof import('node:util');
  readonly 'node:worker_threads': typeof import('node:worker_threads');
  readonly 'node:zlib': typeof import('node:zlib');
}

const loaded: { -readonly [Name in keyof LateModules]?: LateModules[Name] } = {};

/** One of Node's modules, loaded when it is first used: importing the package would take half as long again if it loaded all of them. */
export function lateModule<Name extends keyof LateModules>(name: Name): LateModules[Name] {
  const module = loaded[name] ?? (process.getBuiltinModule?.(name) as LateModules[Name] | undefined);
  if (!module) {
    throw new HoldfastError(
      'RUNTIME_UNSUPPORTED',
      `this runtime cannot load ${name}; use Node 22.23, 24.15 or 26, or newer in each line`,
    );
  }
  loaded[name] = module;
  return module;
}
