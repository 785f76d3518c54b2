/** `holdfast demo`: starts the demo of `examples/demo`, and serves Studio for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import type { StudioHost } from '../../examples/demo/studio-demo.ts';
import { messageOf } from '../core/errors.ts';
import type { Command } from './main.ts';
import { printable, printableLine } from './printable.ts';
import { isInteractive } from './studio/open-browser.ts';
import { PLACE_OPTIONS, PLACE_USAGE, type Place, placeOf, serveStudio } from './studio/serve-studio.ts';
import { endBy, type SignalWait, waitForSignal } from './studio/until-signal.ts';

const IS_SOURCE = import.meta.url.endsWith('.ts');
/** How this command is called where it runs: from the sources of a clone, or as an installed package. */
const OWN_COMMAND = IS_SOURCE ? 'npx node src/cli/holdfast.ts' : 'npx holdfast';
/** In a clone, which need not be built, it makes the name `holdfast` lead to the sources. */
const SOURCES: string = new URL('../../examples/use-sources.ts', import.meta.url).href;
/** How long a page may take to open before the demo begins without it. */
const PAGE_MS = 6000;
const LOOK_MS = 100;

export const demo: Command = {
  usage: `holdfast demo [--model <provider/model>] [--dir <directory>] [--port n] [--host name] [--token text] [--no-open]

An agent files an expense report. Its process is killed inside a tool, resumed by a new one, killed again while the model
responds, and resumed again. It takes seconds, needs no API key and writes only to its directory.

In a terminal, Studio shows it in the browser; then the agent plans a trip, and you kill it with a button, as often as you like, until
Ctrl+C. Without a terminal, or with CI=true, there is no Studio, and the command ends with the expense report.

  --model name   a real model instead of rules: openai/<model> (needs @ai-sdk/openai and OPENAI_API_KEY)
                 or anthropic/<model> (needs @ai-sdk/anthropic and ANTHROPIC_API_KEY)
  --dir path     where to put the database and the files; a new temporary directory by default
${PLACE_USAGE}`,
  async run(args) {
    const options = { model: { type: 'string' }, dir: { type: 'string' }, ...PLACE_OPTIONS } as const;
    const { values } = parseArgs({ args: [...args], options });
    const { model, dir } = values;
    const place = placeOf(values);
    if (IS_SOURCE) await import(SOURCES);
    const { runDemo } = await import('../../examples/demo/demo.ts');
    const wait = isInteractive() ? waitForSignal() : undefined;
    const studio = wait && studioFor(place, wait);
    try {
      const code = await runDemo({ model, dir, command: OWN_COMMAND, printable, studio });
      if (!wait?.aborted.aborted) return code;
    } finally {
      wait?.release();
    }
    return endBy(await wait.signal);
  },
};

function studioFor(place: Place, wait: SignalWait): StudioHost {
  return {
    signal: wait.aborted,
    async serve(options, sessionId) {
      try {
        const view = `sessions/${encodeURIComponent(sessionId)}`;
        const { server, address, isOpened } = await serveStudio(options, place, { view });
        console.log();
        const until = performance.now() + (isOpened ? PAGE_MS : 0);
        while (server.stats().streams === 0 && performance.now() < until && !wait.aborted.aborted) await sleep(LOOK_MS);
        return { address, close: () => server.close({ graceMs: 0 }) };
      } catch (error) {
        const why = printableLine(messageOf(error));
        console.error(styleText('yellow', `Studio cannot be served, so the demo runs without it: ${why}`));
        wait.release(); // from now on, a signal ends the demo at once
        return undefined;
      }
    },
  };
}
