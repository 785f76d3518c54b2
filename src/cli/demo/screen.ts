import { printable, printableLine } from '../printable.ts';
import { terminal } from '../terminal.ts';
import type { Progress } from './progress.ts';

const { bold, dim, green, red, cyan, yellow } = terminal;

/** Shows an agent's progress, with the model's text as it streams. */
export function screen(pid: number): (progress: Progress) => void {
  console.log(`${cyan('▶')} ${bold(`process ${pid}`)}`);
  let speaking = false;
  const line = (text: string): void => {
    if (speaking) process.stdout.write('\n');
    speaking = false;
    if (text) console.log(`  ${text}`);
  };
  return (progress) => {
    switch (progress.type) {
      case 'said':
        process.stdout.write(`${speaking ? '' : `  ${dim('model')}  `}${indented(printable(progress.delta))}`);
        speaking = true;
        return;
      case 'called':
        return line(`${dim('call ')}  ${printableLine(progress.name)} ${dim(brief(progress.arguments))}`);
      case 'returned':
        return line(
          `${progress.isError ? red('error') : green('  ok ')}  ${printableLine(progress.name)} ${dim(brief(progress.text))}`,
        );
      case 'interrupted':
        return line(yellow(`saved  the interrupted response: “${brief(progress.text)}”`));
      case 'lookedUp':
        return line(
          yellow(
            `check  ${progress.name} was started by the process that died: ${progress.happened ? 'the mail is in the outbox, so it is not sent again' : 'no mail left, so it runs'}`,
          ),
        );
      case 'acted':
        return line(`${dim('mail ')}  left for the server …`);
      default:
        return line('');
    }
  };
}

/** Indents further lines of a model's text, so that they do not look like lines of the demo. */
function indented(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat('  model  '.length)}`);
}

function brief(text: string): string {
  const one = printableLine(text);
  return one.length > 60 ? `${one.slice(0, 59)}…` : one;
}
