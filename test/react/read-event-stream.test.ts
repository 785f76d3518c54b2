import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEventStream, type StreamMessage } from '../../src/react/server-source.ts';

async function messagesOf(chunks: Iterable<Uint8Array>): Promise<readonly StreamMessage[]> {
  const messages: StreamMessage[] = [];
  for await (const some of readEventStream(ReadableStream.from(chunks))) messages.push(...some);
  return messages;
}

function split(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(bytes.slice(start, start + size));
    start += size;
  }
  return [...chunks, bytes.slice(start)];
}

test('messages are the same however the bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ event: fc.constantFrom('', 'live', 'end'), data: fc.string({ unit: 'binary' }) })),
      fc.array(fc.nat(20)),
      fc.constantFrom('\n', '\r\n'),
      async (given, sizes, end) => {
        const sent = given.map(({ event, data }) => ({ event, data: JSON.stringify(data) }));
        const text = sent.map(
          ({ event, data }) => `${event && `event: ${event}\n`}id: 4\ndata: ${data}\n\n: heartbeat\n\n`,
        );
        const bytes = new TextEncoder().encode(text.join('').replaceAll('\n', end));
        expect(await messagesOf(split(bytes, sizes))).toEqual(sent);
      },
    ),
  );
});

test.for([
  ['a message that is cut off is not yielded', 'data: 1\n\ndata: 2\n', [{ event: '', data: '1' }]],
  ['lines of data are joined', 'data: 1\ndata:2\ndata\n\n', [{ event: '', data: '1\n2\n' }]],
  ['retry is a message of its own', 'retry: 1000\n\n', [{ event: undefined, data: '1000' }]],
  ['a retry that is no number is skipped', 'retry: soon\nretry:\nretry: -1\nretry: 1e3\n\n', []],
  ['an event named retry is no time', 'event: retry\ndata: 5\n\n', [{ event: 'retry', data: '5' }]],
  ['lines may end with CRLF', 'event: a\r\ndata: 1\r\ndata: 2\r\n\r\n', [{ event: 'a', data: '1\n2' }]],
  ['a byte order mark is skipped', '\ufeffdata: 1\n\n', [{ event: '', data: '1' }]],
  ['a name does not outlive its message', 'event: live\n\ndata: 1\n\n', [{ event: '', data: '1' }]],
  ['comments and unknown fields are skipped', ':\n: data: 1\nfoo: 2\n\n', []],
] as const)('%s', async ([, text, expected]) => {
  expect(await messagesOf([new TextEncoder().encode(text)])).toEqual(expected);
});

test('a heartbeat yields a chunk without messages', async () => {
  const chunks: number[] = [];
  const body = ReadableStream.from([new TextEncoder().encode(': heartbeat\n\n')]);
  for await (const messages of readEventStream(body)) chunks.push(messages.length);
  expect(chunks).toEqual([0]);
});
