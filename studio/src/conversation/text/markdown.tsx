/** Markdown of a model, also while it is written. HTML in it is text, links are checked, images from elsewhere are not loaded. */
import {
  type Context,
  type CSSProperties,
  createContext,
  memo,
  type ReactNode,
  useContext,
  useDeferredValue,
  useId,
  useState,
} from 'react';
import { type Components, Streamdown } from 'streamdown';
import { useIsStatic } from '../rows/open-states.tsx';
import { visible } from '../tools/ansi.ts';
import { Code } from './code.tsx';
import { markdownPieces } from './markdown-pieces.ts';
import { PlainText } from './plain-text.tsx';
import { safeImage, safeLink } from './safe-url.ts';

/** Longer texts are shown as they are: parsing them would block the page. */
export const MAX_MARKDOWN = 120_000;

/** True where Markdown is shown as it was written: around a text that could not be rendered. */
export const AsWrittenContext: Context<boolean> = createContext(false);

/**
 * Whether the list around a text is being scrolled. A text that appears meanwhile is shown as it was written at first, and parsed when the page
 * has time: one that is scrolled past is never parsed.
 */
export const ScrollingContext: Context<{ readonly isScrolling: boolean } | undefined> = createContext<
  { readonly isScrolling: boolean } | undefined
>(undefined);

export const Markdown = memo((props: { readonly id: string; readonly text: string; readonly isLive?: boolean }) => {
  const { id, text } = props;
  const isLive = !useIsStatic() && props.isLive === true;
  const isAsWritten = useContext(AsWrittenContext) || text.length > MAX_MARKDOWN;
  const scrolling = useContext(ScrollingContext);
  const [isHurried] = useState(() => !isLive && scrolling?.isScrolling === true);
  const isParsed = useDeferredValue(true, !isHurried);
  if (isAsWritten) return <PlainText id={id} text={text} />;
  if (!isParsed) return <div className="markdown break-words whitespace-pre-wrap">{visible(text)}</div>;
  return markdownPieces(text).map(({ text: piece, isPlain }, index) =>
    isPlain ? (
      <PlainText key={index} id={`${id}:${index}`} text={piece} />
    ) : (
      <Streamdown
        key={index}
        className="markdown"
        mode={isLive ? 'streaming' : 'static'}
        parseIncompleteMarkdown={isLive}
        components={COMPONENTS}
        rehypePlugins={NONE}
        controls={false}
        linkSafety={NO_DIALOG}
      >
        {piece}
      </Streamdown>
    ),
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
  th: ({ style, children }) => <th className={alignment(style)}>{children}</th>,
  td: ({ style, children }) => <td className={alignment(style)}>{children}</td>,
  ...Object.fromEntries(
    'h1 h2 h3 h4 h5 h6 p ul ol li blockquote hr thead tbody tr strong em del sup sub section'
      .split(' ')
      .map((tag) => [tag, tag]),
  ),
};

/** The alignment of a column as a class: a static file allows no style attributes. */
function alignment(style: CSSProperties | undefined): string | undefined {
  const { textAlign } = style ?? {};
  return textAlign === 'right' ? 'text-right' : textAlign === 'center' ? 'text-center' : undefined;
}

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
