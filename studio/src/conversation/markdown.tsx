/** Markdown of a model, also while it is written. HTML in it is text, links are checked, images from elsewhere are not loaded. */
import { memo, type ReactNode, useId } from 'react';
import { type Components, Streamdown } from 'streamdown';
import { Code } from './code.tsx';
import { PlainText } from './plain-text.tsx';
import { safeImage, safeLink } from './safe-url.ts';

/** Longer texts are shown as they are: parsing them would block the page. */
const MAX_LENGTH = 120_000;

export const Markdown = memo((props: { readonly id: string; readonly text: string; readonly isLive?: boolean }) => {
  const { id, text, isLive = false } = props;
  if (text.length > MAX_LENGTH) return <PlainText id={id} text={text} />;
  return (
    <Streamdown
      className="markdown"
      mode={isLive ? 'streaming' : 'static'}
      parseIncompleteMarkdown={isLive}
      components={COMPONENTS}
      rehypePlugins={NONE}
      controls={false}
      linkSafety={NO_DIALOG}
    >
      {text}
    </Streamdown>
  );
});

const NONE: [] = [];
const NO_DIALOG = { enabled: false };

const COMPONENTS: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => <SafeImage src={typeof src === 'string' ? src : undefined} alt={alt ?? ''} />,
  pre: ({ node }) => <Fence node={node} />,
  code: ({ children }) => <code>{children}</code>,
  inlineCode: ({ children }) => <code>{children}</code>,
  input: ({ checked }) => <span>{checked ? '☑ ' : '☐ '}</span>,
  table: ({ children }) => (
    <div className="table" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  ...Object.fromEntries(
    'h1 h2 h3 h4 h5 h6 p ul ol li blockquote hr thead tbody tr th td strong em del sup sub section'
      .split(' ')
      .map((tag) => [tag, tag]),
  ),
};

/** A link that may be followed, else its text and where it would lead. */
function SafeLink({ href, children }: { readonly href: string | undefined; readonly children: ReactNode }) {
  const address = safeLink(href);
  if (address === undefined) return <span title={href}>{children}</span>;
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

function SafeImage({ src, alt }: { readonly src: string | undefined; readonly alt: string }) {
  const address = safeImage(src);
  if (address !== undefined) return <img src={address} alt={alt} className="max-h-96 rounded" />;
  return <SafeLink href={src}>{alt === '' ? `image ${src ?? ''}` : `image: ${alt}`}</SafeLink>;
}

interface HastNode {
  readonly value?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly children?: readonly HastNode[];
}

/** A block of code: its text and language are read from the parsed node. */
function Fence({ node }: { readonly node: HastNode | undefined }) {
  const id = useId();
  const code = node?.children?.[0];
  const names = code?.properties?.className;
  const [, language = ''] = /language-(\S+)/.exec(Array.isArray(names) ? names.join(' ') : '') ?? [];
  return <Code id={id} text={textOf(code).replace(/\n$/, '')} language={language} />;
}

function textOf(node: HastNode | undefined): string {
  return node?.value ?? node?.children?.map(textOf).join('') ?? '';
}
