import { randomInt, randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import type { Run } from '../../loop/evaluate/run.ts';
import { pause } from '../../loop/request/pause.ts';
import { untilAborted } from '../../models/until-aborted.ts';
import { type OwnedProcess, startAgentProcess } from '../agent-process.ts';
import { TOOL_SERVER } from '../serve-mcp-request.ts';
import type { PluginInput } from './opencode-plugin.ts';
import { failed } from './opencode-session.ts';
import type { OpenCodeClient, OpenCodeEvent, OpenCodeSdk } from './opencode-types.ts';

/** OpenCode's server: on this machine only, and only with the password that this process made for it. */
export interface OpenCodeServer extends OwnedProcess {
  readonly headers: Readonly<Record<string, string>>;
}

/** Starts it on a free port. */
export async function startServer(options: {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly scratch: string;
  readonly plugin: PluginInput;
}): Promise<OpenCodeServer> {
  const { plugin, ...process } = options;
  const [user, password] = ['holdfast', randomUUID()];
  const owned = startAgentProcess({
    ...process,
    args: ['serve', '--hostname=127.0.0.1', `--port=${await freePort()}`],
    env: { ...options.env, OPENCODE_SERVER_USERNAME: user, OPENCODE_SERVER_PASSWORD: password },
  });
  owned.child.stdin?.on('error', () => {}); // it ended without reading: its exit reports why
  owned.child.stdin?.end(JSON.stringify(plugin));
  return { ...owned, headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } };
}

/** A client of it, and the function that responds in place of a person. */
export async function connect(
  run: Run,
  server: OpenCodeServer,
  { sdk, cwd }: { readonly sdk: OpenCodeSdk; readonly cwd: string },
): Promise<{ readonly client: OpenCodeClient; readonly respondTo: (event: OpenCodeEvent) => Promise<void> }> {
  const { headers } = server;
  const baseUrl = await listening(run, server);
  const client = sdk.createOpencodeClient({ baseUrl, directory: cwd, headers });
  const reply = async (path: string, body: object): Promise<void> => {
    const url = new URL(path, baseUrl);
    url.searchParams.set('directory', cwd);
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: run.aborter.signal,
    });
    // Not found: it was taken back meanwhile.
    if (!response.ok && response.status !== 404) throw failed(`${path}: ${response.status} ${await response.text()}`);
  };
  return {
    client,
    respondTo: async ({ type, properties: { id, questions = [] } }) => {
      if (type === 'permission.asked')
        await reply(`/permission/${id}/reply`, { reply: 'reject', message: NOT_PERMITTED });
      if (type === 'question.asked')
        await reply(`/question/${id}/reply`, { answers: questions.map(() => [DECIDE_YOURSELF]) });
    },
  };
}

/** Without a text OpenCode would stop; with one the model continues. */
const NOT_PERMITTED = 'This is not permitted here, and nobody can be asked. Go on without it.';
const DECIDE_YOURSELF = 'Nobody can be asked. Decide by yourself.';

const POLL_MS = 50;

/** Resolves when OpenCode has found our tools: it would ask the model without them. */
export async function toolsReached(run: Run, client: OpenCodeClient): Promise<void> {
  for (;;) {
    const { data, error } = await client.mcp.status();
    if (!data) throw failed(JSON.stringify(error));
    const tools = data[TOOL_SERVER];
    if (tools?.status === 'connected') return;
    if (tools) throw failed(`it cannot use our tools: ${tools.error ?? tools.status}`);
    await pause(run.session.clock, POLL_MS, run.aborter.signal);
  }
}

/** What is kept of the output while the address is looked for: more than the line that names it has. */
const KEPT_OUTPUT = 1_000;
/** Up to the white space behind it: the output arrives in pieces. */
const ADDRESS = /listening on\s+(https?:\/\/\S+)\s/;

/** Finds the address at which OpenCode listens in its output, piece by piece. Keeps no more than the last line needs. */
export function addressFinder(): (piece: string) => string | undefined {
  let output = '';
  return (piece) => {
    output += piece;
    const url = ADDRESS.exec(output)?.[1];
    output = output.slice(-KEPT_OUTPUT);
    return url;
  };
}

/** The address that OpenCode reports. Its later output is read and dropped. */
function listening(run: Run, { child, exited }: OpenCodeServer): Promise<string> {
  const address = new Promise<string>((resolve) => {
    const find = addressFinder();
    const look = (piece: string): void => {
      const url = find(piece);
      if (url === undefined) return;
      child.stdout?.off('data', look).resume();
      resolve(url);
    };
    child.stdout?.setEncoding('utf8').on('data', look);
  });
  return untilAborted(Promise.race([address, exited.then((error) => Promise.reject(error))]), run.aborter.signal);
}

/** Below the ports that systems assign, so that it is still free when OpenCode, seconds later, listens on it. */
const PORTS = [10_000, 32_768] as const;

const TRIES = 100;

async function freePort(): Promise<number> {
  for (let n = 0; n < TRIES; n++) {
    const port = randomInt(...PORTS);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw failed('no port is free on this machine');
}
