import type { CallState } from '../core/fold/evaluations.ts';
import type { InputContent } from '../core/log/events.ts';
import type { CallRef } from '../core/log/messages.ts';
import type { QueuedInput } from '../core/views/views.ts';
import type { ConversationActions, ConversationSource, SendInputOptions } from './conversation-source.ts';
import { readEventStream } from './read-event-stream.ts';
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
        withCalls ? (await read<{ readonly calls: readonly CallState[] }>(`${url}/calls`, options())).calls : [],
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
  const send = async (input: string | InputContent, given: SendInputOptions = {}): Promise<{ readonly id: string }> => {
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
