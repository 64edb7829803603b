/** A part of a text that is marked: code points from `start` up to, and without, `end`. */
export type Span = { start: number; end: number };

export type Piece = { text: string; marked: boolean };

/** Cut a text into pieces, marked and not. Spans may lie outside the text, overlap or be in any order. */
export function pieces(text: string, spans: readonly Span[]): Piece[] {
  const points = Array.from(text);
  const marked = new Uint8Array(points.length);
  for (const { start, end } of spans) marked.fill(1, Math.max(0, start), Math.max(0, end));
  const cut: Piece[] = [];
  for (let from = 0, to = 0; from < points.length; from = to) {
    while (to < points.length && marked[to] === marked[from]) to += 1;
    cut.push({ text: points.slice(from, to).join(""), marked: marked[from] === 1 });
  }
  return cut;
}

const GAP = /\s+/gu;

/**
 * Return where a quotation stands in a text, null where it does not. White space of any length and kind is alike, as
 * lines of a quotation are broken elsewhere.
 */
export function spanOf(quote: string, text: string): Span | null {
  const wanted = quote.trim().replace(GAP, " ");
  if (wanted === "") return null;
  const points: number[] = []; // the code point in `text` that each unit of `flat` comes from
  let flat = "";
  let index = 0;
  for (const point of text) {
    const piece = /\s/u.test(point) ? (flat.endsWith(" ") ? "" : " ") : point;
    for (let unit = 0; unit < piece.length; unit += 1) points.push(index);
    flat += piece;
    index += 1;
  }
  const at = flat.indexOf(wanted);
  if (at < 0) return null;
  return { start: points[at] ?? 0, end: (points[at + wanted.length - 1] ?? 0) + 1 };
}
