import { styleText } from 'node:util';
import type { Progress } from './agent-process.ts';

/** Shows an agent's progress, with the model's text as it streams. */
export function screen(pid: number): (progress: Progress) => void {
  console.log(`${styleText('cyan', '▶')} ${styleText('bold', `process ${pid}`)}`);
  let speaking = false;
  const line = (text: string): void => {
    if (speaking) process.stdout.write('\n');
    speaking = false;
    if (text) console.log(`  ${text}`);
  };
  return (progress) => {
    switch (progress.type) {
      case 'said':
        process.stdout.write(`${speaking ? '' : `  ${styleText('dim', 'model')}  `}${indented(progress.delta)}`);
        speaking = true;
        return;
      case 'called':
        return line(`${styleText('dim', 'call ')}  ${progress.name} ${styleText('dim', brief(progress.arguments))}`);
      case 'returned':
        return line(
          `${progress.isError ? styleText('red', 'error') : styleText('green', '  ok ')}  ${progress.name} ${styleText('dim', brief(progress.text))}`,
        );
      case 'interrupted':
        return line(styleText('yellow', `saved  the interrupted response: “${brief(progress.text)}”`));
      case 'lookedUp':
        return line(
          styleText(
            'yellow',
            `check  ${progress.name} was started by the process that died: ${progress.happened ? 'the mail is in the outbox, so it is not sent again' : 'no mail left, so it runs'}`,
          ),
        );
      case 'acted':
        return line(`${styleText('dim', 'mail ')}  left for the server …`);
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
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
