/**
 * `npm run dev [-- --port <n>] [--server <url>]`: Studio from its sources, with hot reload, in front of a server that runs from the sources. The
 * server has sessions of every kind in a temporary database, and agents with a scripted model, so that everything on the page works.
 * `--server` shows the sessions of another Holdfast server instead. Ctrl+C ends all of it.
 *
 * A change in `studio/`, or in a file of `src/` that Studio imports, is on the page at once. The server runs what `src/` was when it started.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { placeOf } from '../src/cli/studio/serve-studio.ts';
import { endBy, waitForSignal } from '../src/cli/studio/until-signal.ts';
import { messageOf } from '../src/core/errors.ts';
import { importTranscripts } from '../src/transcripts.ts';
import { type DevServer, startDevServer } from '../studio/dev-server.ts';
import { playDemo } from '../test/browser/studio/play-demo.ts';
import { playRelease } from '../test/browser/studio/play-release.ts';
import { StudioHost, temporaryDirectory } from '../test/browser/studio/studio-host.ts';

const FIXTURES = join(import.meta.dirname, '../test/fixtures');
/** A person can watch a response arrive and a command run. */
const WORD_MS = 40;
const COMMAND_MS = 4000;

const wait = waitForSignal();
const directory = temporaryDirectory();
let host: StudioHost | undefined;
let page: DevServer | undefined;
try {
  await Promise.race([start(), wait.signal]);
  await wait.signal;
} catch (error) {
  console.error(`npm run dev: ${messageOf(error)}`);
  process.exitCode = 1;
} finally {
  await page?.close();
  await host?.stop();
  rmSync(directory, { recursive: true, force: true }); // a host that is still being prepared has not removed it
  wait.release();
}
if (wait.aborted.aborted) endBy(await wait.signal);

async function start(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: 'string' }, server: { type: 'string' } } });
  const { port } = placeOf({ port: values.port });
  if (values.server !== undefined && !URL.canParse(values.server))
    throw new Error(`${values.server} is not an address`);
  const server = values.server ?? (await startHost());
  page = await startDevServer({ server, ...(port !== undefined && { port }) });
  console.log(`Studio ${page.url} (Ctrl+C ends it)`);
}

async function startHost(): Promise<string> {
  console.log('Agents with a scripted model make the sessions, which takes a few seconds …');
  host = await StudioHost.start(playRelease, { hasPage: false, directory });
  await playDemo(host);
  await importTranscripts(host.store, { paths: [FIXTURES] });
  host.words.slow(WORD_MS);
  host.commands.slow(COMMAND_MS);
  return host.url;
}
