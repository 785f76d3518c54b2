import type { CallState } from '../core/evaluations.ts';
import type { InputContent } from '../core/events.ts';
import type { CallRef } from '../core/messages.ts';
import type { QueuedInput } from '../core/views.ts';
import type { ConversationActions, ConversationSource, SendInputOptions } from './conversation-source.ts';
import { readEventStream } from './read-event-stream.ts';
import {
  act,
  type ErrorBody,
  errorOf,
  RequestError,
  type RequestOptions,
  read,
  request,
  withoutSlash,
} from './request.ts';

const ACCEPT = { accept: 'text/event-stream' } as const;
const MAX_SENDS = 6;
const FIRST_PAUSE_MS = 250;

/** A session on a Holdfast server: the routes of docs/server.md. `options` is called for every request. */
export function serverSource(address: string, options: () => RequestOptions): ConversationSource {
  const url = withoutSlash(address);
  return {
    async follow(after, reader, signal) {
      reader.alive();
      const query = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
      const { body, headers } = await request(`${url}/stream?wait=true${query}`, options(), {
        headers: ACCEPT,
        signal,
      });
      if (!body || !headers.get('content-type')?.startsWith(ACCEPT.accept)) {
        throw new RequestError('ROUTE_NOT_FOUND', 404, `${url} is no session of a Holdfast server`);
      }
      for await (const messages of readEventStream(body)) {
        for (const { event, data } of messages) {
          const value = JSON.parse(data);
          if (event === '') reader.item(value);
          else if (event === 'live') reader.live();
          else if (event === 'retry') reader.alive(value);
          else if (event === 'end') throw endOf(value);
        }
        reader.alive();
      }
    },
    isFinal: (error) => error instanceof RequestError && !error.isTemporary,
    async readWaiting(withCalls) {
      const { inputs } = await read<{ readonly inputs: readonly QueuedInput[] }>(`${url}/queue`, options());
      if (!withCalls) return [inputs, []];
      const { calls } = await read<{ readonly calls: readonly CallState[] }>(`${url}/calls`, options());
      return [inputs, calls];
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
  const send = async (input: string | InputContent, given: SendInputOptions = {}): Promise<{ readonly id: string }> => {
    const id = given.id ?? randomId();
    for (let sent = 1; ; sent++) {
      try {
        return await act(`${url}/inputs`, options(), { ...given, id, input });
      } catch (error) {
        if (!(error instanceof RequestError && error.isTemporary) || sent === MAX_SENDS) throw error;
        await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (sent - 1)));
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
    stop: (given) => post('stop', given),
    approve: (call, given) => decide('approve', call, given),
    deny: (call, given) => decide('deny', call, given),
    settle: (call, how) => decide('settle', call, how),
    resume: (given) => post('resume', given),
    abandon: (given) => post('abandon', given),
  };
}

/** `crypto.randomUUID` exists only on pages of secure origins. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join('-');
}

/** What a stream that does not continue ended with. Only a session that is gone stays gone. */
function endOf({ error }: ErrorBody): RequestError {
  return errorOf(error, error?.code === 'SESSION_NOT_FOUND' ? 404 : 500, 'the server ended the stream');
}
