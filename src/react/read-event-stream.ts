/** A message of a stream of server-sent events. `event` is '' for one without a name, and undefined for a time between connections. */
export interface StreamMessage {
  readonly event: string | undefined;
  readonly data: string;
}

/**
 * Reads server-sent events; yields the messages of each chunk, which are none for a heartbeat. `EventSource` would read them too, but sends
 * no headers and hides heartbeats. Lines end with LF or CRLF. Every character is searched once, however a line is split. It ends when
 * `signal` is aborted, also if the body does not know of it.
 */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<readonly StreamMessage[]> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  signal?.addEventListener('abort', () => reader.cancel().catch(() => {}));
  let line: string[] = [];
  let event = '';
  let data: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const messages: StreamMessage[] = [];
    const [first = '', ...rest] = decoder.decode(value, { stream: true }).split('\n');
    line.push(first);
    for (const next of rest) {
      const text = line.join('').replace(/\r$/, '');
      line = [next];
      const [name = ''] = text.split(':', 1);
      const content = text.slice(name.length + 1).replace(/^ /, '');
      if (text === '') {
        if (data.length > 0) messages.push({ event, data: data.join('\n') });
        event = '';
        data = [];
      } else if (name === 'event') event = content;
      else if (name === 'data') data.push(content);
      else if (name === 'retry' && /^\d+$/.test(content)) messages.push({ event: undefined, data: content });
    }
    yield messages;
  }
}
