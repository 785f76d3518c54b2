/** A search excerpt: the store puts the matched words between `⟦` and `⟧`. */
export function MarkedText({ text }: { readonly text: string }) {
  return text.split(/(⟦[^⟦⟧]*⟧)/).map((piece, index) => {
    const isHit = piece.startsWith('⟦');
    return isHit ? <mark key={index}>{piece.slice(1, -1)}</mark> : piece;
  });
}
