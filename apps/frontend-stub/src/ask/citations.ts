import type { AnswerCitation, Result } from "../client/api";
import { type Span, spansOf } from "../common/spans";
import type { Place } from "../state/route";

/** A part of the text of an answer: `n` is the citation that it is written as. */
export type Part = { text: string; n: number | null };

const CITATION = /\[(\d{1,9})\]/g;

/** Cut a text at those of its [n] that are citations; any other stays text. */
export function partsOf(text: string, known: ReadonlyMap<number, AnswerCitation>): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const found of text.matchAll(CITATION)) {
    const n = Number(found[1]);
    if (!known.has(n)) continue;
    if (found.index > from) parts.push({ text: text.slice(from, found.index), n: null });
    parts.push({ text: found[0], n });
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), n: null });
  return parts;
}

/** Return the passage that a citation quotes, null where the caller may not see passages. */
export function passageOf({ chunk_id, collection }: AnswerCitation, results: readonly Result[]): Result | null {
  return results.find((result) => result.id === chunk_id && result.collection === collection) ?? null;
}

/** Return where in its document a citation leads. */
export function placeOf(citation: AnswerCitation): Place {
  const place: Place = { lineStart: citation.line_start, lineEnd: citation.line_end, quote: citation.quote };
  return citation.page === null ? place : { ...place, page: citation.page };
}

/** A part of a passage, with the quoted words in it; `whole` says whether it is all of it. */
export type Excerpt = { text: string; marks: Span[]; whole: boolean };

/** A passage of so many code points is shown whole; of a longer one, so many before and behind the quoted words. */
export const SHOWN_WHOLE = 1600;
const AROUND = 500;

export function excerptOf(quote: string, text: string, whole: boolean): Excerpt {
  const marks = spansOf(quote, text);
  const points = Array.from(text);
  if (whole || points.length <= SHOWN_WHOLE) return { text, marks, whole: true };
  const first = marks.length > 0 ? Math.min(...marks.map((mark) => mark.start)) : 0;
  const last = marks.length > 0 ? Math.max(...marks.map((mark) => mark.end)) : AROUND;
  const start = Math.max(0, first - AROUND);
  const end = Math.min(points.length, last + AROUND);
  const [before, behind] = [start > 0 ? "…" : "", end < points.length ? "…" : ""];
  const moved = before.length - start;
  return {
    text: before + points.slice(start, end).join("") + behind,
    marks: marks.map((mark) => ({ start: mark.start + moved, end: mark.end + moved })),
    whole: false,
  };
}
