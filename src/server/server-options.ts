import { HoldfastError } from '../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { AgentListener } from '../loop/agent/agent.ts';
import { type Agents, checkAgents } from '../loop/agent/choose-agent.ts';
import type { Store } from '../ports/store.ts';
import type { OpenSessionOptions } from '../session/session.ts';
import { checkNumbers } from '../worker/create-worker.ts';

/** A process that runs, or has run, a session's agent. */
export interface AgentProcess {
  readonly pid: number;
  /** ISO time. */
  readonly startedAt: string;
  readonly status: 'running' | 'ended' | 'killed';
}

/**
 * The processes of agents that a program has started, for pages that show them and kill them.
 *
 * Contract: `list` returns the processes of one session, oldest first; it may forget old ones. `kill` sends SIGKILL to the one that runs
 * and returns its pid, or returns undefined if none runs. What the program does then, such as to start another one, is its own decision.
 */
export interface AgentProcesses {
  list(sessionId: string): readonly AgentProcess[];
  kill(sessionId: string): number | undefined;
}

/** Options of `createServer`. */
export interface ServerOptions {
  readonly store: Store;
  /** What runs sessions: `{ name: agent }`, or a function. Without it the server reads and appends, and other processes run what is sent. */
  readonly agents?: Agents;
  /** The agents' own processes: `GET /sessions/:id` lists those of a session, `POST /sessions/:id/kill` kills the one that runs. */
  readonly processes?: AgentProcesses;
  /** How the server opens sessions: `redact`, `upcasters` and so on. */
  readonly session?: Omit<OpenSessionOptions, 'store' | 'id' | 'readOnly' | 'slices' | 'onError'>;
  /** What requests must carry as `Authorization: Bearer …`; at least 16 characters. */
  readonly token?: string;
  /** Decides about every request instead of `token`. */
  readonly authorize?: (request: Request) => boolean | Promise<boolean>;
  /** Host names that requests may name beside the loopback and listened ones, without a port. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may use this server from elsewhere, such as `http://localhost:5173`. */
  readonly origins?: readonly string[];
  /** Serves Studio at `/studio/`, and `/` leads there. A directory is that of another build of it. Default: false. */
  readonly studio?: boolean | string;
  /** What every path begins with. */
  readonly basePath?: string;
  /** Called with every event of every session that this server runs, as it happens. */
  readonly onEvent?: AgentListener;
  /** Receives errors that no response can carry; `sessionId` if a runner of that session failed. By default a process warning. */
  readonly onError?: (error: unknown, context: { readonly sessionId?: string }) => void;
  /** The most bytes that a request's body may have; 8 MiB. */
  readonly maxBodyBytes?: number;
  /** The most streams that are open at a time; 10,000. */
  readonly maxStreams?: number;
  /** The most sessions that are run at a time; 256. The others wait. */
  readonly maxRunners?: number;
  /** Milliseconds without an item after which a stream carries a comment; 15,000. */
  readonly heartbeatMs?: number;
  /** Milliseconds that clients wait before they reconnect; 1,000. */
  readonly retryMs?: number;
  /** Milliseconds between two searches for work that other processes made; 1,000. 0: none. */
  readonly pollMs?: number;
}

const KNOWN: KnownOptions<ServerOptions> = {
  store: true,
  agents: true,
  processes: true,
  session: true,
  token: true,
  authorize: true,
  hosts: true,
  origins: true,
  studio: true,
  basePath: true,
  onEvent: true,
  onError: true,
  maxBodyBytes: true,
  maxStreams: true,
  maxRunners: true,
  heartbeatMs: true,
  retryMs: true,
  pollMs: true,
};

const MIN_TOKEN = 16;

/** The numbers of a server, with their defaults. */
export type ServerLimits = Required<
  Pick<ServerOptions, 'maxBodyBytes' | 'maxStreams' | 'maxRunners' | 'heartbeatMs' | 'retryMs' | 'pollMs'>
>;

const LIMITS: ServerLimits = {
  maxBodyBytes: 8 * 2 ** 20,
  maxStreams: 10_000,
  maxRunners: 256,
  heartbeatMs: 15_000,
  retryMs: 1000,
  pollMs: 1000,
};

/** Throws `INVALID_ARGUMENT` for options that cannot work; returns the limits. */
export function checkServerOptions(options: ServerOptions): ServerLimits {
  refuseUnknownOptions('createServer', options, KNOWN);
  if (typeof options?.store?.append !== 'function')
    refuse('createServer needs a store: memoryStore or sqliteStore make one');
  if (options.agents !== undefined) checkAgents('createServer', options.agents);
  const { token, authorize, hosts = [], origins = [], basePath = '' } = options;
  if (token !== undefined && authorize)
    refuse('token and authorize both decide who may use the server; give one of them');
  if (token !== undefined && (typeof token !== 'string' || token.length < MIN_TOKEN)) {
    refuse(`a token has at least ${MIN_TOKEN} characters; crypto.randomUUID() makes one`);
  }
  for (const origin of origins)
    if (!isOrigin(origin)) refuse(`${origin} is not an origin such as http://localhost:5173`);
  for (const host of hosts)
    if (!isHost(host)) refuse(`${host} is not a host name; give it without scheme, port and path`);
  if (basePath !== '' && !/^(?:\/[\w.~-]+)+$/.test(basePath))
    refuse(`basePath is a path such as /holdfast, not ${basePath}`);
  return checkNumbers('createServer', { ...LIMITS, ...defined(options, LIMITS) }, { pollMs: 0 });
}

/** The values of the named options that are given. */
export function defined<Numbers extends object>(options: object, names: Numbers): Partial<Numbers> {
  const given = Object.entries(options).filter(([name, value]) => Object.hasOwn(names, name) && value !== undefined);
  return Object.fromEntries(given) as Partial<Numbers>;
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function isHost(text: string): boolean {
  return URL.canParse(`http://${text}`) && new URL(`http://${text}`).hostname === text.toLowerCase();
}

function refuse(why: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', why);
}
