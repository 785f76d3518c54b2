import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/core/canonical-json.ts';
import { bindTemplate, promptIdentityText, promptMismatch } from '../../src/core/log/prompt-identity.ts';

describe('D4: the identity of a prompt', () => {
  const tools = [
    { name: 'write', schema: { type: 'object', properties: { path: {}, text: {} } } },
    { name: 'read', schema: { type: 'object' } },
  ];
  const same = promptIdentityText({ instructions: 'Do {{what}}', tools });

  test("does not depend on the order of tools and of a schema's keys", () => {
    const [write, read] = [{ name: 'write', schema: { properties: { text: {}, path: {} }, type: 'object' } }, tools[1]];
    expect(promptIdentityText({ instructions: 'Do {{what}}', tools: [read ?? write, write] })).toBe(same);
  });

  test.for([
    ['the instructions', { instructions: 'Do {{it}}', tools }],
    ['a tool’s name', { instructions: 'Do {{what}}', tools: [{ ...tools[0], name: 'w' }, tools[1]] }],
    ['a tool’s schema', { instructions: 'Do {{what}}', tools: [{ name: 'write', schema: {} }, tools[1]] }],
    ['the number of tools', { instructions: 'Do {{what}}', tools: tools.slice(0, 1) }],
  ] as const)('depends on %s', ([, prompt]) => {
    expect(promptIdentityText(prompt as Parameters<typeof promptIdentityText>[0])).not.toBe(same);
  });

  const recorded = { promptNs: 'ns', promptKey: 'key', promptHash: 'hash' };
  test.for([
    [{ ns: 'ns', key: 'key', hash: 'hash' }, true, true],
    [{ ns: 'ns', key: 'key', hash: 'other' }, false, true],
    [{ ns: 'ns', key: 'other', hash: 'hash' }, false, false],
    [{ ns: 'other', key: 'key', hash: 'hash' }, false, false],
  ] as const)('%o matches strictly: %s, relaxed: %s', ([prompt, strict, relaxed]) => {
    expect(promptMismatch(recorded, prompt, 'strict') === undefined).toBe(strict);
    expect(promptMismatch(recorded, prompt, 'relaxed') === undefined).toBe(relaxed);
  });
});

describe('bindTemplate', () => {
  test.for([
    ['Hello {{name}}', { name: 'Ada' }, 'Hello Ada', []],
    ['{{ name }} and {{name}}', { name: 1 }, '1 and 1', []],
    ['{{missing}} {{there}}', { there: '' }, '{{missing}} ', ['missing']],
    ['{{x}}', { x: '{{y}} $& $1' }, '{{y}} $& $1', []],
    ['{{constructor}} {{__proto__}}', {}, '{{constructor}} {{__proto__}}', ['constructor', '__proto__']],
    ['{{x}}', { x: undefined }, '{{x}}', ['x']],
    ['{single} {{}} {{ }}', {}, '{single} {{}} {{ }}', []],
  ] as const)('%s', ([template, params, text, missing]) => {
    expect(bindTemplate(template, params)).toEqual({ text, missing });
  });
});

test('canonicalJson returns the same text for equal values, in any order of their keys', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reversed(inner)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
