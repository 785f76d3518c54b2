/**
 * What a model's shell can do with its inherited environment: searches the environments of this process and its ancestors for secrets,
 * and tries to open a session and to reach the bridge with each. Prints what it found.
 */
import { readFileSync } from 'node:fs';

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** This process, its shell and the agent: all ancestors up to the host, which has no mark. */
function ancestors(): readonly number[] {
  const pids: number[] = [];
  for (let pid = process.pid; /(?:^|\0)HOLDFAST_AGENT=/.test(read(pid, 'environ')); ) {
    pids.push(pid);
    const stat = read(pid, 'stat');
    pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  }
  return pids;
}

const environments = [
  ...ancestors().map((pid) => read(pid, 'environ')),
  Object.entries(process.env)
    .map(([name, value]) => `${name}=${value}`)
    .join('\0'),
];
const valuesOf = (pattern: RegExp): readonly string[] => [
  ...new Set(environments.flatMap((text) => [...text.matchAll(pattern)].map(([, value = '']) => value))),
];
const ports = ancestors().flatMap((pid) => [...read(pid, 'cmdline').matchAll(/--port=(\d+)/g)].map(([, port]) => port));
const passwords = ['', ...valuesOf(/(?:^|\0)OPENCODE_SERVER_PASSWORD=([^\0]*)/g)];
const bridges = valuesOf(/(http:\/\/127\.0\.0\.1:\d+\/[\w-]{36})/g);

const opened: number[] = [];
for (const port of ports) {
  for (const password of passwords) {
    const authorization = `Basic ${Buffer.from(`holdfast:${password}`).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/session`, { method: 'POST', headers, body: '{}' });
    opened.push(answer.status);
  }
}
const reached: number[] = [];
for (const bridge of bridges) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  reached.push((await fetch(`${bridge}/mcp`, { method: 'POST', body })).status);
}
console.log(JSON.stringify({ ports: ports.length, opened, reached }));
