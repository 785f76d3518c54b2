import type { Attachment } from 'holdfast/conversation';
import { type Context, createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { imageOf } from './safe-url.ts';

/** Reads the content that a hash names. */
export type ContentReader = (hash: string, signal: AbortSignal) => Promise<string>;

/** Undefined in a static file, which has no server. */
export const ContentReaderContext: Context<ContentReader | undefined> = createContext<ContentReader | undefined>(
  undefined,
);

/** An image that is stored outside of its message, under its hash: it is read from the server when it is shown. */
export function ExternalImage(props: { readonly attachment: Attachment; readonly instead: ReactNode }) {
  const { attachment, instead } = props;
  const { mediaType, data = '', filename } = attachment;
  const read = useContext(ContentReaderContext);
  const [base64, setBase64] = useState<string>();
  useEffect(() => {
    const reading = new AbortController();
    read?.(data, reading.signal).then(setBase64, () => {}); // without its content it keeps its name
    return () => reading.abort();
  }, [read, data]);
  const image = imageOf(mediaType, base64);
  if (image === undefined) return instead;
  return <img src={image} alt={filename ?? mediaType} className="max-h-80 max-w-full rounded border border-line" />;
}
