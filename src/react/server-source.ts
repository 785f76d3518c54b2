import type { InputContent } from '../core/log/events.ts';
import type { CallRef } from '../core/log/messages.ts';
import type { PendingCall, QueuedInput } from '../core/views/views.ts';
import type { SendOptions } from '../session/append/send-input.ts';
import type { ConversationActions, ConversationSource } from './conversation-source.ts';
import {
  act,
  type ErrorBody,
  errorOf,
  pause,
  type RequestError,
  type RequestOptions,
  read,
  request,
  withoutSlash,
} from './request.ts';

const STREAM = 'text/event-stream';
const MAX_SENDS = 6;
const FIRST_PAUSE_MS = 250;

/** A session on a Holdfast server: the routes of docs/server.md. `options` is called for every request. */
export function serverSource(address: string, options: () => RequestOptions): ConversationSource {
  const url = withoutSlash(address);
  return {
    async follow(after, reader, signal) {
      reader.alive();
      const query = after ? `&after=${encodeURIComponent(after)}` : '';
      const init = { headers: { accept: STREAM }, signal };
      const body = await request(`${url}/stream?wait=true${query}`, options(), init, ({ body, headers, status }) => {
        if (body && headers.get('content-type')?.startsWith(STREAM)) return body;
        throw errorOf(url, status);
      });
      for await (const messages of readEventStream(body, signal)) {
        for (const { event, data } of messages) {
          if (event === '') reader.item(JSON.parse(data));
          else if (event === 'live') reader.live();
          else if (event === 'end') {
            const { error } = JSON.parse(data) as ErrorBody;
            throw errorOf(url, error?.code === 'SESSION_NOT_FOUND' ? 404 : 500, error); // only a session that is gone stays gone
          } else if (event === undefined) reader.alive(+data);
        }
        reader.alive();
      }
    },
    isFinal: (error) => (error as Partial<RequestError> | undefined)?.isTemporary === false,
    async readWaiting(withCalls) {
      const { inputs } = await read<{ readonly inputs: readonly QueuedInput[] }>(`${url}/queue`, options());
      return [
        inputs,
        withCalls ? (await read<{ readonly calls: readonly PendingCall[] }>(`${url}/calls`, options())).calls : [],
      ];
    },
    actions: serverActions(url, options),
  };
}

function serverActions(url: string, options: () => RequestOptions): ConversationActions {
  const post = async (path: string, body: object = {}): Promise<void> => {
    await act(`${url}/${path}`, options(), body);
  };
  /** The server accepts no field but these, and JSON leaves out what is undefined. */
  const decide = (what: string, { evaluationId, turn, callId, attempt }: CallRef, given?: object): Promise<void> =>
    post(`calls/${what}`, { evaluationId, turn, callId, attempt, ...given });
  const send = async (input: string | InputContent, given: SendOptions = {}): Promise<{ readonly id: string }> => {
    const id = given.id ?? randomId();
    for (let sent = 1; ; sent++) {
      try {
        return await act(`${url}/inputs`, options(), { ...given, id, input });
      } catch (error) {
        if (!(error as Partial<RequestError>).isTemporary || sent === MAX_SENDS) throw error;
        await pause(sent, FIRST_PAUSE_MS);
      }
    }
  };
  return {
    send,
    steer: (input, given) => send(input, { ...given, mode: 'steer' }),
    async withdraw(inputId) {
      const path = `${url}/inputs/${encodeURIComponent(inputId)}`;
      const { withdrawn } = await act<{ readonly withdrawn: boolean }>(path, options(), undefined, 'DELETE');
      return withdrawn;
    },
    approve: (call, given) => decide('approve', call, given),
    deny: (call, given) => decide('deny', call, given),
    settle: (call, how, given) => decide('settle', call, { ...how, ...given }),
    cancel: (given) => post('cancel', given),
    stop: (given) => act(`${url}/stop`, options(), given ?? {}),
    resume: (given) => post('resume', given),
    abandon: (given) => post('abandon', given),
  };
}

/** `crypto.randomUUID` exists only on pages of secure origins. */
function randomId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

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
