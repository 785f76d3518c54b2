import { HttpError } from '../http/http-error.ts';
import { type Route, withSession } from '../route.ts';
import { COUNT, resultOf } from './schemas.ts';

/** Routes of servers that were given `processes`. */
export const PROCESS_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/sessions/:id/kill',
    name: 'killAgent',
    summary: 'Sends SIGKILL to the process that runs the agent of a session',
    needs: 'processes',
    response: { status: 200, description: 'The process that was killed', schema: resultOf({ pid: COUNT }) },
    handle: (context, request) =>
      withSession(context, request, ({ id }) => {
        const pid = context.processes?.kill(id);
        if (pid === undefined) throw new HttpError('NOT_RUNNING', 'no process runs the agent of this session now');
        return { pid };
      }),
  },
];
