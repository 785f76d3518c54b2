import type { Attachment } from 'holdfast/conversation';
import { Icon } from '../ui/icon.tsx';
import { ExternalImage } from './text/external-image.tsx';
import { imageOf } from './text/safe-url.ts';

/** Images whose bytes are part of the conversation or stored beside it; the names of all other files. */
export function Attachments({ attachments }: { readonly attachments: readonly Attachment[] }) {
  return (
    <div className="my-1 flex flex-wrap gap-2">
      {attachments.map((attachment, index) => (
        <OneAttachment key={index} attachment={attachment} />
      ))}
    </div>
  );
}

function OneAttachment({ attachment }: { readonly attachment: Attachment }) {
  const { mediaType, data, filename } = attachment;
  const image = imageOf(mediaType, data);
  const name = filename ?? mediaType;
  if (image !== undefined) {
    return <img src={image} alt={name} className="max-h-80 max-w-full rounded border border-line" />;
  }
  const named = (
    <span className="inline-flex items-center gap-1.5 rounded border border-line px-2 py-0.5 text-muted">
      <Icon name="file" /> {name}
    </span>
  );
  const isExternal = mediaType.startsWith('image/') && data?.startsWith('sha256:');
  return isExternal ? <ExternalImage attachment={attachment} instead={named} /> : named;
}

/** The files in the parts of a result: they have `mediaType` and `data`, or stand inside `source`. */
export function attachmentsIn(parts: readonly unknown[] | undefined): readonly Attachment[] {
  return (parts ?? []).flatMap((part) => {
    const found = part as {
      type?: unknown;
      mediaType?: unknown;
      data?: unknown;
      filename?: unknown;
      source?: unknown;
    } | null;
    const source = (found?.source ?? found) as { media_type?: unknown; mediaType?: unknown; data?: unknown } | null;
    const mediaType = source?.mediaType ?? source?.media_type ?? found?.mediaType;
    if (typeof mediaType !== 'string') return [];
    const data = typeof source?.data === 'string' ? { data: source.data } : {};
    return [{ mediaType, ...data, ...(typeof found?.filename === 'string' && { filename: found.filename }) }];
  });
}
