/** A message of a stream of server-sent events. `event` is '' for one without a name, and `retry` for the time between connections. */
export interface StreamMessage {
  readonly event: string;
  readonly data: string;
}

/**
 * Reads server-sent events; yields the messages of each chunk, which are none for a heartbeat. `EventSource` would read them too, but sends
 * no headers and hides heartbeats. The lines of a Holdfast server end with LF. Every character is searched once, however a line is split.
 */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly StreamMessage[]> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
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
      const text = line.join('');
      line = [next];
      const colon = text.indexOf(':');
      const name = colon < 0 ? text : text.slice(0, colon);
      const content = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
      if (text === '') {
        if (data.length > 0) messages.push({ event, data: data.join('\n') });
        event = '';
        data = [];
      } else if (name === 'event') event = content;
      else if (name === 'data') data.push(content);
      else if (name === 'retry') messages.push({ event: name, data: content });
    }
    yield messages;
  }
}
