import { posix } from 'node:path';
import { importsOf } from './imports.ts';

/**
 * The shortest cycle of value imports through each module that imports itself through others, each cycle once: a list of paths whose
 * last one imports the first. Modules of a cycle cannot be loaded or understood one by one. Type imports are erased and may be mutual.
 */
export function importCycles(sources: ReadonlyMap<string, string>): readonly (readonly string[])[] {
  const graph = new Map(Array.from(sources, ([path, source]) => [path, valueImports(path, source)]));
  const cycles = new Map<string, readonly string[]>();
  for (const path of graph.keys()) {
    const cycle = shortestCycle(graph, path);
    if (cycle) cycles.set(cycle.toSorted().join(), cycles.get(cycle.toSorted().join()) ?? cycle);
  }
  return [...cycles.values()];
}

function valueImports(path: string, source: string): readonly string[] {
  return importsOf(source)
    .filter(({ from, typeOnly }) => from.startsWith('.') && !typeOnly)
    .map(({ from }) => posix.join(posix.dirname(path), from));
}

/** Breadth first, so that the first path back to the start is a shortest one. */
function shortestCycle(graph: ReadonlyMap<string, readonly string[]>, start: string): readonly string[] | undefined {
  const before = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const next of graph.get(path) ?? []) {
      if (next === start) return pathTo(path, before);
      if (before.has(next) || !graph.has(next)) continue;
      before.set(next, path);
      queue.push(next);
    }
  }
  return undefined;
}

function pathTo(end: string, before: ReadonlyMap<string, string>): readonly string[] {
  const path = [end];
  for (let step = before.get(end); step !== undefined; step = before.get(step)) path.unshift(step);
  return path;
}
