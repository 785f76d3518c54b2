import { join } from 'node:path';
import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, isHoldfastError, messageOf } from '../../core/errors.ts';
import type { Snapshot } from '../../core/fold/snapshot.ts';
import { refuseUnknownOptions } from '../../core/known-options.ts';
import { isBuiltInEvent, type NewEvent, type SessionEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { sha256 } from '../../session/read/contents.ts';
import { lateModule } from '../../stores/late-module.ts';
import type { HeldLock } from './checkpoint-lock.ts';
import type { KeptResponse } from './kept-response.ts';

/** Checkpoints: a conversation as one file, or wherever a handler puts it, for people without a store. */

/**
 * Keeps the checkpoint of a request.
 *
 * Contract: `save` and `complete` resolve when what they were given is durable, and replace what was there as a whole: `load`
 * returns the old one or the new one, as an object or as its JSON, or undefined. `clear` removes it.
 */
export interface CheckpointHandler<Request> {
  load(request: Request): Promise<Snapshot | KeptResponse | string | undefined>;
  save(request: Request, snapshot: Snapshot): Promise<void>;
  clear(request: Request): Promise<void>;
  /**
   * Keeps the response of a completed request in place of its checkpoint, so that `execute` returns it instead of running the
   * request again. On a handler without it, `clear` is called.
   */
  complete?(request: Request, response: KeptResponse): Promise<void>;
  /**
   * Resolves when this process alone may run the request, with a function that gives it back; rejects with `SESSION_BUSY` while
   * another process runs it. The lock of a dead process is taken over. Without it two processes may run one request.
   */
  lock?(request: Request): Promise<() => Promise<void>>;
}

/** Checkpoints in files. */
export interface FileCheckpoints<Request> extends CheckpointHandler<Request> {
  load(request: Request): Promise<string | undefined>;
  complete(request: Request, response: KeptResponse): Promise<void>;
  lock(request: Request): Promise<() => Promise<void>>;
}

/**
 * When a checkpoint is saved: after every response and when its calls are done (`on-turn`), also after each result
 * (`on-tool-use`), at the end, at the first record after some time, or only when `MainLoop.checkpoint` is called. What is saved
 * is saved before the loop continues; the rest is lost in a crash and done again.
 */
export type CheckpointStrategy = 'on-turn' | 'on-tool-use' | 'on-complete' | 'on-demand' | { readonly everyMs: number };

/**
 * Checkpoints as JSON files in a directory, written atomically, under names that cannot leave it. Responses of completed requests
 * stay there until `clear`.
 */
export function fileCheckpoints<Request>(
  dir: string,
  options: { readonly name?: (request: Request) => string } = {},
): FileCheckpoints<Request> {
  refuseUnknownOptions('fileCheckpoints', options, { name: true });
  const { name = requestName } = options;
  const baseOf = (request: Request): string => join(dir, safeName(name(request)));
  const pathOf = (request: Request): string => `${baseOf(request)}.json`;
  const locks = new Map<string, HeldLock>();
  const write = async (request: Request, value: Snapshot | KeptResponse): Promise<void> => {
    const path = pathOf(request);
    await locks.get(path)?.check();
    try {
      await lateModule('node:fs/promises').mkdir(dir, { recursive: true });
      await replaceFile(path, JSON.stringify(value));
      await syncDirectory(dir);
    } catch (error) {
      throw failed('written', path, error);
    }
  };
  return {
    async load(request) {
      try {
        return await lateModule('node:fs/promises').readFile(pathOf(request), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw failed('read', pathOf(request), error);
      }
    },
    save: write,
    complete: write,
    async clear(request) {
      const path = pathOf(request);
      try {
        await lateModule('node:fs/promises').rm(path, { force: true });
      } catch (error) {
        throw failed('removed', path, error);
      }
    },
    async lock(request) {
      const path = pathOf(request);
      let held: HeldLock;
      try {
        const { holdLock } = await import('./checkpoint-lock.ts');
        held = await holdLock(`${baseOf(request)}.lock`, `request ${name(request)}`);
      } catch (error) {
        throw isHoldfastError(error) ? error : failed('locked', path, error);
      }
      locks.set(path, held);
      return async () => {
        locks.delete(path);
        // A lock that cannot be removed is that of a dead process soon; the response of the request that ran under it must not be lost.
        await held.release().catch(() => {});
      };
    },
  };
}

/** The name of a request: itself if it is a short text, its `id` if it has one, else the hash of its JSON. */
export function requestName(request: unknown): string {
  const name = typeof request === 'object' && request !== null && 'id' in request ? request.id : request;
  if ((typeof name === 'string' || typeof name === 'number') && SHORT_TEXT.test(String(name))) return String(name);
  return `request-${sha256(canonicalJson(request) ?? String(request)).slice(0, 32)}`;
}

/** A name that fits on a line, in a session's id and in a listing. */
const SHORT_TEXT = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
/** Names that are files of their own on every system: some ignore case, and a few names are devices. */
const PLAIN = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9_-]{1,100}$/;

/** A file name of letters, digits, -, _ and ., different for different names. */
function safeName(name: string): string {
  if (PLAIN.test(name)) return name;
  const readable = name.replace(/[^\w-]+/g, '_').slice(0, 60);
  return `${readable}.${sha256(name).slice(0, 16)}`;
}

let files = 0;

async function replaceFile(path: string, text: string): Promise<void> {
  const { open, rename } = lateModule('node:fs/promises');
  const temporary = `${path}.${process.pid}-${++files}.tmp`; // two that save at once must not write into one file
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

async function syncDirectory(dir: string): Promise<void> {
  if (process.platform === 'win32') return; // a directory cannot be opened there
  const handle = await lateModule('node:fs/promises').open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function failed(what: string, path: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    'CHECKPOINT_INVALID',
    `the checkpoint ${path} cannot be ${what}: ${messageOf(cause)}; check the directory and its permissions`,
    { cause },
  );
}

/** Whether an append calls for a checkpoint. `openCalls` counts calls without a result after it. */
export function isDue(
  strategy: CheckpointStrategy,
  events: readonly (NewEvent | SessionEvent)[],
  since: { readonly openCalls: number; readonly elapsedMs: number },
): boolean {
  if (typeof strategy === 'object') return since.elapsedMs >= strategy.everyMs;
  if (strategy === 'on-demand') return false;
  return events.some((event) => {
    if (!isBuiltInEvent(event)) return false;
    const ends =
      event.type === 'evaluation/completed' ||
      event.type === 'evaluation/suspended' ||
      event.type === 'evaluation/failed';
    if (ends || strategy === 'on-complete') return ends;
    if (event.type === 'evaluation/started' || event.type === 'tool/started') return true;
    if (event.type !== 'message/recorded') return false;
    if (event.message.role === 'tool') return strategy === 'on-tool-use' || since.openCalls === 0;
    return true;
  });
}

/** A store that saves a checkpoint before it acknowledges an append that calls for one. */
export function checkpointingStore(store: Store, afterAppend: (events: readonly NewEvent[]) => Promise<void>): Store {
  return new Proxy(store, {
    get(target, property) {
      if (property === 'append') {
        return async (...args: Parameters<Store['append']>) => {
          const response = await target.append(...args);
          await afterAppend(args[1]);
          return response;
        };
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
