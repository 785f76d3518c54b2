/** Sessions as people have them, for screenshots and tests: work on a bug, subagents, approvals, limits, failures. */
import type { StudioHost } from './studio-host.ts';

const ANSWER = `Found it. \`release()\` set the state to \`held\` instead of \`free\`, so a lock could be taken **once**.

## What changed
1. \`release()\` sets the state back to \`free\`.
2. A test takes, releases and takes again.

| file | lines | why |
| --- | ---: | --- |
| \`src/lock.ts\` | 1 | the wrong state |
| \`test/locks.test.ts\` | 6 | the missing case |

\`\`\`ts
export function withLock<T>(lock: Lock, body: () => T): T | undefined {
  if (!lock.take()) return undefined; // someone else holds it
  try {
    return body();
  } finally {
    lock.release();
  }
}
\`\`\`

> Locks that are never released are a different problem: they need a lease with an end.

See [the guide](https://example.org/locks) for more.`;

export const BUG = 'The test of the lock fails since yesterday. Find out why and fix it.';

/** Makes the sessions and waits until each has reached its state. */
export async function playScenes(host: StudioHost): Promise<void> {
  host.script(BUG, [
    {
      reasoning: 'The failing test is about releasing. I run the tests first, then read the class that they use.',
      text: 'I run the tests first.',
      toolCalls: [
        {
          name: 'TodoWrite',
          arguments: {
            todos: [
              { content: 'Run the tests', status: 'in_progress' },
              { content: 'Find the cause', status: 'pending' },
              { content: 'Fix it and add a test', status: 'pending' },
            ],
          },
        },
        { name: 'Bash', arguments: { command: 'npm test -- locks', description: 'Run the tests of locks' } },
      ],
    },
    {
      text: 'One test fails: a released lock is still held. The class is short.',
      toolCalls: [{ name: 'Read', arguments: { file_path: '/home/ada/harbor/src/lock.ts' } }],
    },
    {
      toolCalls: [
        {
          name: 'Edit',
          arguments: {
            file_path: '/home/ada/harbor/src/lock.ts',
            old_string: "  release(): void {\n    this.#state = 'held';\n  }",
            new_string: "  release(): void {\n    this.#state = 'free';\n  }",
          },
        },
        { name: 'Bash', arguments: { command: 'false --because "the disk is full"' } },
        { name: 'screenshot', arguments: { page: 'http://localhost:3000/tides' } },
      ],
    },
    {
      toolCalls: [
        {
          name: 'TodoWrite',
          arguments: {
            todos: [
              { content: 'Run the tests', status: 'completed' },
              { content: 'Find the cause', status: 'completed' },
              { content: 'Fix it and add a test', status: 'in_progress' },
            ],
          },
        },
      ],
    },
    ANSWER,
  ]);
  host.script('Compare how others', [
    {
      text: 'I ask two people at once.',
      toolCalls: [
        { name: 'researcher', arguments: { input: 'How does PostgreSQL implement advisory locks?' } },
        { name: 'lead', arguments: { input: 'How do others do it?' } },
      ],
    },
    'Both use a table of holders; PostgreSQL keeps it in **shared memory**.',
  ]);
  host.script('How does PostgreSQL', [
    {
      text: 'I look into the source.',
      toolCalls: [{ name: 'Bash', arguments: { command: 'rg -n LockAcquire src/backend' } }],
    },
    'It keeps locks in a hash table in shared memory, partitioned sixteen ways.',
  ]);
  host.script('How do others do it', [
    { toolCalls: [{ name: 'researcher', arguments: { input: 'How does etcd do it?' } }] },
    'etcd uses leases.',
  ]);
  host.script('How does etcd', ['With leases: a key that disappears when its holder stops renewing.']);
  host.script('Tell Ada', [
    {
      text: 'I write to her.',
      toolCalls: [{ name: 'send_letter', arguments: { to: 'Ada', text: 'The lock is fixed.' } }],
    },
    'She will have it tomorrow.',
  ]);
  host.script('Charge order', [
    { text: 'I charge the card.', toolCalls: [{ name: 'charge_card', arguments: { order: 'B-7', euros: 80 } }] },
    'The order is paid.',
  ]);
  host.script('Translate', [
    {
      text: 'I begin with the first chapter.',
      toolCalls: [{ name: 'Bash', arguments: { command: 'wc -w book/*.md' } }],
    },
    { text: 'The second chapter is longer.', toolCalls: [{ name: 'Bash', arguments: { command: 'wc -w book/2.md' } }] },
    'All chapters are translated.',
  ]);
  host.script('Ask the oracle', [{ error: { status: 503, message: 'the provider is overloaded' } }]);

  await describe(host, 'lock-bug', 'Fix the lock that is never free', '/home/ada/harbor');
  await host.send('lock-bug', BUG);
  await host.reaches('lock-bug', 'completed');
  await describe(host, 'lock-research', 'Compare how others implement locks', '/home/ada/harbor');
  await host.send('lock-research', 'Compare how others implement locks.');
  await host.reaches('lock-research', 'completed');
  await describe(host, 'letter', 'Tell Ada that it is fixed', '/home/ada/letters');
  await host.send('letter', 'Tell Ada that the lock is fixed.');
  await host.reaches('letter', 'suspended');
  await describe(host, 'charge', 'Charge order B-7', '/srv/shop');
  await host.send('charge', 'Charge order B-7 with 80 euros.');
  await host.reaches('charge', 'suspended');
  await describe(host, 'budget-book', 'Translate the book', '/home/ada/book');
  await host.send('budget-book', 'Translate the book.');
  await host.reaches('budget-book', 'suspended');
  await describe(host, 'oracle', 'Ask the oracle', '/home/ada');
  await host.send('oracle', 'Ask the oracle what tomorrow brings.');
  await host.reaches('oracle', 'suspended');
}

async function describe(host: StudioHost, id: string, title: string, cwd: string): Promise<void> {
  await host.act(`sessions/${id}`, { title, metadata: { cwd } }, 'PATCH');
}
