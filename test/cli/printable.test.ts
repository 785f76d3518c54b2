import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, printableLine } from '../../src/cli/printable.ts';

/** Characters that a terminal interprets: controls except line feed and tab, bidirectional controls, separators, invisible tags. */
const OBEYED = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\u2028\u2029\ufeff]|[\u{e0000}-\u{e007f}]/u;

test.for([
  ['a window title (OSC)', '\u001b]0;owned\u0007', '␛]0;owned␇'],
  ['a clipboard write (OSC 52) that ends with ST', '\u001b]52;c;cm0=\u001b\\', '␛]52;c;cm0=␛\\'],
  ['a cleared screen (CSI)', '\u001b[2J\u001b[H', '␛[2J␛[H'],
  ['an 8-bit CSI and OSC', '\u009b31m\u009d0;owned\u009c', '�31m�0;owned�'],
  ['an overwritten line', 'rm -rf\rls    \b\b', 'rm -rf␍ls    ␈␈'],
  ['a bidirectional override', 'a\u202egpj.exe\u2069\u200f\u061c', 'a�gpj.exe���'],
  ['NUL and DEL', '\u0000\u007f', '␀␡'],
  ['invisible tags', 'hi\u{e0068}\u{e0069}', 'hi��'],
] as const)('%s is shown, not interpreted', ([, text, shown]) => {
  expect(printable(text)).toBe(shown);
});

test('ordinary text does not change: line feeds, tabs, other scripts, emoji with joiners', () => {
  const text = 'a\tb\nc – žluťoučký 你好 مرحبا 👩‍🚀 ✓';
  expect(printable(text)).toBe(text);
  expect(printable('one\r\ntwo')).toBe('one\ntwo');
});

test('printableLine is one line', () => {
  expect(printableLine('  a\n\n✓ done\u2028\tb\u001b[A ')).toBe('a ✓ done b␛[A');
});

test('no text, in any pieces, outputs a character that a terminal interprets', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('\u001b', ']', '[', '\u009b', '\r', '\n', '\u202e', '0', 'm'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
  });
  fc.assert(
    fc.property(fc.array(text), (pieces) => {
      expect(pieces.map(printable).join('')).not.toMatch(OBEYED);
      expect(printableLine(pieces.join(''))).not.toMatch(/\n/);
    }),
  );
});
