import { spawn } from 'node:child_process';

/** What decides whether there is a browser to open. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly isTerminal: boolean;
}

/** Whether a person sits before a screen: a terminal, a display, and no build server. */
export function canOpenBrowser({ platform, env, isTerminal }: Surroundings = here()): boolean {
  if (!isTerminal || isBuildServer(env)) return false;
  return platform === 'darwin' || platform === 'win32' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** Whether this program talks to a person: its output is a terminal, and it does not run on a build server. */
export function isInteractive({ env, isTerminal }: Pick<Surroundings, 'env' | 'isTerminal'> = here()): boolean {
  return isTerminal && !isBuildServer(env);
}

/** Opens an address in the person's browser. Never fails: the address was printed, too. */
export function openBrowser(address: string, platform: NodeJS.Platform = process.platform): void {
  const [command, ...args] = commandFor(address, platform);
  try {
    const opener = spawn(command, args, { stdio: 'ignore', detached: true });
    opener.on('error', () => {}); // there is no such program
    opener.unref();
  } catch {
    // The system has no process left.
  }
}

/** The program of a system that opens addresses. */
export function commandFor(address: string, platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', address];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', address];
  return ['xdg-open', address];
}

function here(): Surroundings {
  return { platform: process.platform, env: process.env, isTerminal: process.stdout.isTTY === true };
}

function isBuildServer({ CI }: NodeJS.ProcessEnv): boolean {
  return CI !== undefined && CI !== '' && CI !== 'false' && CI !== '0';
}
