import type { SecretRedactor } from '../../transcripts/export/redact-secrets.ts';

/** Whether the provider's metadata of each response is recorded with its message, and how much of it. */
export type RecordProviderMetadata =
  | boolean
  | {
      /** The most characters of JSON that are recorded for one response; 16,384 unless given. */
      readonly maxLength?: number;
    };

const DEFAULT_MAX_LENGTH = 16_384;

let loading: Promise<SecretRedactor> | undefined;

/** Loaded when it is first used: its rules are many, and most programs record no metadata. */
async function loadRedactor(): Promise<SecretRedactor> {
  const { SecretRedactor } = await import('../../transcripts/export/redact-secrets.ts');
  return new SecretRedactor();
}

/**
 * A response's metadata as it is recorded: without secrets, and at most `maxLength` characters of JSON. An entry of one provider that
 * does not fit is replaced by its length.
 */
export async function recordedMetadata(
  metadata: Readonly<Record<string, unknown>> | undefined,
  setting: RecordProviderMetadata | undefined,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!setting || typeof metadata !== 'object' || metadata === null) return undefined;
  const { maxLength = DEFAULT_MAX_LENGTH } = setting === true ? {} : setting;
  loading ??= loadRedactor();
  const redactor = await loading;
  let left = maxLength;
  const entries = Object.entries(redactor.data(metadata)).map(([provider, data]): [string, unknown] => {
    const length = JSON.stringify(data)?.length ?? 0;
    if (length > left) return [provider, { omittedLength: length }];
    left -= length;
    return [provider, data];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
