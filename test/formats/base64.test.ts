import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64OfEscapes, base64OfText, textOfBase64 } from '../../src/formats/base64.ts';

const anyText = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));

test('a text becomes the base64 that Node writes, and is read back', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const base64 = base64OfText(text);
      expect(base64).toBe(Buffer.from(text).toString('base64'));
      expect(textOfBase64(base64)).toBe(text.toWellFormed());
    }),
  );
});

test('any bytes are read as text without an error, and valid UTF-8 as Node reads it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
      const text = textOfBase64(Buffer.from(bytes).toString('base64'));
      const expected = Buffer.from(bytes).toString();
      if (expected.includes('\ufffd')) expect(text).toContain('\ufffd');
      else expect(text).toBe(expected);
    }),
  );
});

test.for([
  ['%41%42', 'AB'],
  ['100% é%C3%A9', '100% éé'],
  ['%zz', '%zz'],
] as const)('the escapes of %s are bytes', ([escaped, text]) => {
  expect(textOfBase64(base64OfEscapes(escaped))).toBe(text);
});
