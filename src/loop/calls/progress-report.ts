import { messageOf } from '../../core/errors.ts';
import { frozen } from '../../core/frozen.ts';
import type { CallProgress } from '../../core/log/progress.ts';

/** The longest `data`, as JSON: every write of the call's draft repeats it. */
const MAX_DATA_LENGTH = 16 * 1024;

type Checked = { readonly ok: true; readonly report: CallProgress } | { readonly ok: false; readonly problem: string };

/** A report as plain data of its own, or what is wrong with it. Never throws. */
export function checkReport(given: unknown): Checked {
  if (typeof given === 'string') return { ok: true, report: { text: given } };
  try {
    return checkFields(given);
  } catch (error) {
    return { ok: false, problem: `its data is not JSON (${messageOf(error)})` };
  }
}

function checkFields(given: unknown): Checked {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { ok: false, problem: 'give a text or { text?, percent?, data? }' };
  }
  const { text = '', percent, data } = given as Readonly<Record<string, unknown>>;
  if (typeof text !== 'string') return { ok: false, problem: `text is a ${typeof text}; give a string` };
  if (percent !== undefined && !Number.isFinite(percent)) {
    return { ok: false, problem: `percent is ${String(percent)}; give a number from 0 to 100` };
  }
  const json = data === undefined ? undefined : JSON.stringify(data);
  if (data !== undefined && json === undefined) {
    return { ok: false, problem: `its data is a ${typeof data}; give plain JSON` };
  }
  if (json !== undefined && json.length > MAX_DATA_LENGTH) {
    const problem = `its data has ${json.length} characters as JSON, and at most ${MAX_DATA_LENGTH} are taken; stream text instead`;
    return { ok: false, problem };
  }
  const report: CallProgress = {
    text,
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, Number(percent))) }),
    ...(json !== undefined && { data: frozen(JSON.parse(json) as unknown) }),
  };
  return { ok: true, report };
}
