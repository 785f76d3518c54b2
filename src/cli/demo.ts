/** `holdfast demo`: starts the demo of `examples/demo`, and serves Studio for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import type { StudioHost } from '../../examples/demo/studio-demo.ts';
import { messageOf } from '../core/errors.ts';
import type { Command } from './main.ts';
import { OWN_COMMAND } from './own-command.ts';
import { printable, printableLine } from './printable.ts';
import { StatusLine } from './status-line.ts';
import { canOpenBrowser, isInteractive, openBrowser } from './studio/open-browser.ts';
import { PLACE_OPTIONS, PLACE_USAGE, type Place, placeOf } from './studio/place.ts';
import { endBy, type SignalWait, waitForSignal } from './studio/until-signal.ts';

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
    if (import.meta.filename.endsWith('.ts')) await import(SOURCES);
    const { runDemo } = await import('../../examples/demo/demo.ts');
    const wait = isInteractive() ? waitForSignal() : undefined;
    const studio = wait && studioFor(place, !values['no-open'], wait);
    try {
      const code = await runDemo({ model, dir, command: OWN_COMMAND, printable, studio });
      if (!wait?.aborted.aborted) return code;
    } finally {
      wait?.release();
    }
    return endBy(await wait.signal);
  },
};

function studioFor(place: Place, isOpened: boolean, wait: SignalWait): StudioHost {
  return {
    signal: wait.aborted,
    async serve(options, sessionId) {
      const { serveStudio, STARTING } = await import('./studio/serve-studio.ts'); // and with it the server, which nothing else here needs
      const line = new StatusLine();
      line.show(STARTING);
      const served = await serveStudio(options, place).catch((error) => {
        line.clear();
        const why = printableLine(messageOf(error));
        console.error(styleText('yellow', `Studio cannot be served, so the demo runs without it: ${why}`));
        wait.release(); // a signal ends the demo at once
        return undefined;
      });
      line.clear();
      if (!served) return undefined;
      const { server, network } = served;
      const address = served.address('sessions', sessionId);
      console.log(
        `${styleText('bold', 'Studio')} ${styleText('cyan', address)} ${styleText('dim', '(Ctrl+C ends it)')}\n`,
      );
      if (network !== undefined) console.log(`  for other machines: ${network}\n`);
      if (isOpened && canOpenBrowser()) {
        openBrowser(address);
        const until = performance.now() + PAGE_MS;
        while (server.stats().streams === 0 && performance.now() < until && !wait.aborted.aborted) await sleep(LOOK_MS);
      }
      return { address, close: () => server.close({ graceMs: 0 }) };
    },
  };
}
