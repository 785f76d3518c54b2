/** The same tests of the hooks with React 18, the oldest version that they support: `test/consumers/react-18` has it. */
import { version } from 'react';
import { expect, test, vi } from 'vitest';
import './hooks.test.ts';

vi.mock('react', () => react18('react/index.js'));
vi.mock('react-dom/client', () => react18('react-dom/client.js'));
vi.mock('react-dom/server', () => react18('react-dom/server.js'));

async function react18(file: string): Promise<object> {
  return import(new URL(`../consumers/react-18/node_modules/${file}`, import.meta.url).href);
}

test('the React of these tests is 18', () => {
  expect(version).toMatch(/^18\./);
});
