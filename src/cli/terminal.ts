import { styleText } from 'node:util';

/** Text for a terminal: coloured where the output is one, plain where it is piped (`NO_COLOR` is respected). */
export const terminal: Readonly<
  Record<'bold' | 'dim' | 'green' | 'red' | 'cyan' | 'yellow', (text: string) => string>
> = {
  bold: (text) => styleText('bold', text),
  dim: (text) => styleText('dim', text),
  green: (text) => styleText('green', text),
  red: (text) => styleText('red', text),
  cyan: (text) => styleText('cyan', text),
  yellow: (text) => styleText('yellow', text),
};
