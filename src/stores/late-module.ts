import { HoldfastError } from '../core/errors.ts';

/** Node's modules that a program needs late or never. */
interface LateModules {
  readonly 'node:child_process': typeof import('node:child_process');
  readonly 'node:crypto': typeof import('node:crypto');
  readonly 'node:zlib': typeof import('node:zlib');
}

const loaded: { -readonly [Name in keyof LateModules]?: LateModules[Name] } = {};

/** One of Node's modules, loaded when it is first used: importing the package would take a fifth longer if it loaded all of them. */
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
