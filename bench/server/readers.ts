/**
 * `readers.ts <url> <count>`: follows a session over HTTP like this many browsers. It reports when all of them are connected and caught up;
 * when every reader has read the end of the agent's evaluation, it reports what they read, and ends.
 */
import { Agent, get } from 'node:http';

export interface StreamReport {
  /** Readers that have read the end. */
  readonly complete: number;
  readonly bytes: number;
  readonly items: number;
  /** When the last reader has read the end, in milliseconds since the epoch. */
  readonly lastAt: number;
  readonly cpuMs: number;
}

const [url = '', count = '1'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
const before = process.cpuUsage();
let bytes = 0;
let items = 0;
let connected = 0;
let complete = 0;
let lastAt = 0;

/** The lead of the agent ends last: its evaluation is the only one of the session. */
const END = '"type":"evaluation/completed"';

function follow(): void {
  get(`${url}/sessions/session/stream?wait=true`, { agent }, (response) => {
    let tail = '';
    let isLive = false;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      bytes += chunk.length;
      items += Array.from(chunk.matchAll(/^id: /gm)).length;
      tail = tail.slice(-200) + chunk;
      if (!isLive && tail.includes('event: live')) {
        isLive = true;
        if (++connected === Number(count)) process.send?.('ready');
      }
      if (!tail.includes(END)) return;
      response.destroy();
      lastAt = Date.now();
      if (++complete === Number(count)) report();
    });
  });
}

function report(): void {
  const { user, system } = process.cpuUsage(before);
  process.send?.({ complete, bytes, items, lastAt, cpuMs: (user + system) / 1000 } satisfies StreamReport, () =>
    process.disconnect(),
  );
}

for (let i = 0; i < Number(count); i++) follow();
