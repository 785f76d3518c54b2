/** What the plugin receives over OpenCode's standard input: it is read once and stored nowhere. */
export interface PluginInput {
  /** The address of the bridge, secret included. */
  readonly bridge: string;
  /** Our tools as one of OpenCode's MCP servers, under its name; none without tools. */
  readonly mcp: Readonly<Record<string, unknown>>;
}

/** Hidden from whatever OpenCode starts: with it the shell of a model could drive the server. */
const PASSWORD = 'OPENCODE_SERVER_PASSWORD';
/** Hidden from shells only: OpenCode reads it again for every directory that it works in. */
const CONFIGURATION = 'OPENCODE_CONFIG_CONTENT';

/**
 * Our plugin in OpenCode's process. It asks the bridge before each request to the model and before each tool, and waits for the
 * response, however long (`timeout` is Bun's). It keeps our secrets from the programs that OpenCode starts: the bridge's address never
 * is in the environment, the password leaves it here. On Linux also what `/proc` shows of the environment is overwritten, since
 * a shell could read it there. OpenCode loads the plugin for each directory, so what was read is kept.
 */
export const PLUGIN: string = `import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
const overwrite = (name) => {
  const environ = readFileSync('/proc/self/environ', 'latin1');
  const at = ('\\0' + environ).indexOf('\\0' + name + '=');
  if (at < 0) return;
  const from = at + name.length + 1;
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[47]);
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    const stars = Buffer.alloc(environ.indexOf('\\0', from) - from, '*');
    writeSync(memory, stars, 0, stars.length, start + from);
  } finally {
    closeSync(memory);
  }
};
const KEPT = Symbol.for('holdfast');
if (!globalThis[KEPT]) {
  globalThis[KEPT] = JSON.parse(readFileSync(0, 'utf8'));
  delete process.env.${PASSWORD};
  try {
    overwrite('${PASSWORD}');
  } catch {} // no Linux, or one that does not allow it
}
const { bridge, mcp } = globalThis[KEPT];
const ask = async (path, body) => {
  const options = { method: 'POST', body: JSON.stringify(body), timeout: false };
  const response = await fetch(bridge + path, options);
  if (!response.ok) throw new Error(await response.text());
};
export const Holdfast = async () => (await ask('/ready', {}), {
  config: (config) => void (config.mcp = { ...config.mcp, ...mcp }),
  'shell.env': (_, { env }) => void (env.${CONFIGURATION} = ''),
  'chat.params': ({ sessionID }) => ask('/request', { sessionID }),
  'tool.execute.before': (input, output) => ask('/before', { ...input, args: output.args }),
});
`;
