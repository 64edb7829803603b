import type { Span } from "../common/spans";

export type Hit = { index: number; span: Span };

/**
 * Return where a query stands in the texts. Capitals, accents and where a line breaks do not matter; hits of one text do
 * not overlap.
 */
export function hitsIn(texts: readonly string[], query: string): Hit[] {
  const wanted = folded(query.trim()).text;
  if (wanted === "") return [];
  return texts.flatMap((text, index) => {
    const { text: flat, points } = foldedOnce(text);
    const hits: Hit[] = [];
    for (let at = flat.indexOf(wanted); at >= 0; at = flat.indexOf(wanted, at + wanted.length)) {
      hits.push({ index, span: { start: points[at] ?? 0, end: (points[at + wanted.length - 1] ?? 0) + 1 } });
    }
    return hits;
  });
}

/** A text as it is compared, and the code point of the true text that each unit of it comes from. */
type Folded = { text: string; points: number[] };

const known = new Map<string, Folded>();
const MAX_KNOWN = 5000;

function foldedOnce(text: string): Folded {
  const found = known.get(text) ?? folded(text);
  if (known.size > MAX_KNOWN) known.clear();
  known.set(text, found);
  return found;
}

function folded(text: string): Folded {
  const points: number[] = [];
  let flat = "";
  let index = 0;
  for (const point of text) {
    const piece = plain(point);
    if (piece !== " " || !flat.endsWith(" ")) {
      for (let unit = 0; unit < piece.length; unit += 1) points.push(index);
      flat += piece;
    }
    index += 1;
  }
  return { text: flat, points };
}

function plain(point: string): string {
  if (point > " " && point < "\u007f") return point.toLowerCase();
  if (/\s/u.test(point)) return " ";
  return point.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
