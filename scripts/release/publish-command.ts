import { isPrerelease } from './version.ts';

/** The command that publishes the package from its folder. A version before a release does not become `latest`. */
export function publishCommand(version: string, { isDryRun = false } = {}): readonly [program: string, ...string[]] {
  const tag = isPrerelease(version) ? ['--tag', 'next'] : [];
  return ['npm', 'publish', '--provenance', '--access', 'public', ...tag, ...(isDryRun ? ['--dry-run'] : [])];
}
