import { styleText } from 'node:util';

/** Formats text for a terminal: coloured if the output is one, plain if it is piped (`NO_COLOR` is respected). */
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
