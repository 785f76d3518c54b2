/** OpenCode's files before version 1.2: `session/<project>/<session>.json`, `message/<session>/…`, `part/<message>/…`. */
import { closeSync, fstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { asName, asObject, type Json, parseJson } from '../../transcripts/json-access.ts';
import type { OpenCodeExportMessage } from '../../transcripts/opencode/export.ts';
import { byCreation } from '../../transcripts/opencode/time.ts';
import { isSafeId, openFileSync } from '../safe-files.ts';
import type { OpenCodeSession, OpenCodeSessions } from './sessions.ts';

/** No message of OpenCode's is larger. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Opens a `storage` folder. Its path contains no symbolic links. */
export function openOpenCodeStorage(root: string): OpenCodeSessions {
  const list = (...path: string[]): readonly string[] => namesIn(root, join(root, ...path));
  const read = (...path: string[]): Json | undefined => readJson(root, join(root, ...path));
  return {
    list: () =>
      list('session').flatMap((project) =>
        list('session', project).flatMap((name): readonly OpenCodeSession[] => {
          const info = name.endsWith('.json') ? read('session', project, name) : undefined;
          const id = asName(info?.id);
          if (info === undefined || id === undefined || `${id}.json` !== name) return [];
          const messages = list('message', id).filter((file) => file.endsWith('.json')).length;
          return [{ id, parentId: asName(info.parentID), info, messages }];
        }),
      ),
    read: ({ id, info }) => ({ info, messages: readMessages(id, list, read) }),
    close: async () => {},
  };
}

function* readMessages(
  sessionId: string,
  list: (...path: string[]) => readonly string[],
  read: (...path: string[]) => Json | undefined,
): Generator<OpenCodeExportMessage> {
  const infos = list('message', sessionId).flatMap((name): readonly Json[] => {
    const info = name.endsWith('.json') ? read('message', sessionId, name) : undefined;
    const id = name.slice(0, -'.json'.length);
    return info === undefined || !isSafeId(id) ? [] : [{ ...info, id, sessionID: sessionId }];
  });
  for (const info of infos.sort(byCreation)) {
    const messageId = asName(info.id) ?? '';
    const parts = list('part', messageId).flatMap((name): readonly Json[] => {
      const part = name.endsWith('.json') ? read('part', messageId, name) : undefined;
      const id = name.slice(0, -'.json'.length);
      return part === undefined ? [] : [{ ...part, id, messageID: messageId, sessionID: sessionId }];
    });
    yield { info, parts };
  }
}

/** The names in a folder below the root, sorted, without symbolic links. */
function namesIn(root: string, path: string): readonly string[] {
  try {
    if (!realpathSync(path).startsWith(root + sep)) return [];
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isSymbolicLink() ? [] : [entry.name])).sort();
  } catch {
    return [];
  }
}

function readJson(root: string, path: string): Json | undefined {
  try {
    if (!realpathSync(path).startsWith(root + sep)) return undefined;
    const file = openFileSync(path);
    try {
      return fstatSync(file).size > MAX_BYTES ? undefined : asObject(parseJson(readFileSync(file, 'utf8')));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
