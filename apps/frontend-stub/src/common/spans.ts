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

const JOINT = " … "; // the service joins with it what an answer quotes of one passage in several places

/** Return where a quotation, or each of those that are joined in it, stands in a text; none where it does not. */
export function spansOf(quote: string, text: string): Span[] {
  const whole = spanOf(quote, text);
  if (whole !== null || !quote.includes(JOINT)) return whole === null ? [] : [whole];
  return quote.split(JOINT).flatMap((part) => spanOf(part, text) ?? []);
}

/**
 * Return where a quotation stands in a text, null where it does not. What the service changes in a quotation, so that it
 * does no harm, is alike: white space, characters that nobody sees, the angles of tags and the ends of labels of links.
 */
export function spanOf(quote: string, text: string): Span | null {
  const wanted = flattened(quote).flat.trim();
  if (wanted === "") return null;
  const { flat, points } = flattened(text);
  const at = flat.indexOf(wanted);
  if (at < 0) return null;
  return { start: points[at] ?? 0, end: (points[at + wanted.length - 1] ?? 0) + 1 };
}

const GAP = /[\s\u0085]/u;
const UNSEEN = /[\p{Cc}\p{Cf}\u3164\u{e0000}-\u{e0fff}]|\u034f/u;
const ANGLES: Readonly<Record<string, string>> = { "‹": "<", "›": ">" };

/** `points` has the code point in the text that each unit of `flat` comes from. */
function flattened(text: string): { flat: string; points: number[] } {
  const points: number[] = [];
  let flat = "";
  let index = -1;
  for (const point of text) {
    index += 1;
    const piece = plain(point);
    if (piece === "" || (piece === " " && flat.endsWith(" "))) continue;
    if (piece === "(" && flat.endsWith("] ")) {
      flat = flat.slice(0, -1);
      points.pop();
    }
    for (let unit = 0; unit < piece.length; unit += 1) points.push(index);
    flat += piece;
  }
  return { flat, points };
}

function plain(point: string): string {
  if (point > " " && point < "\u007f") return point;
  if (point !== "\ufeff" && GAP.test(point)) return " ";
  return UNSEEN.test(point) ? "" : (ANGLES[point] ?? point);
}
