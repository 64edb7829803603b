import type { Span } from "../common/spans";

/** A part of a text, with its marks; `before` and `after` say whether something is left out there. */
export type Excerpt = { text: string; marks: Span[]; before: boolean; after: boolean };

const LEAD = 80;

/**
 * Return so much of a text as is read at a glance: at most `points` code points and `lines` lines. It begins with the
 * text, or shortly before the first mark where that would be left out.
 */
export function excerpt(text: string, marks: readonly Span[], { points = 420, lines = 7 } = {}): Excerpt {
  const all = Array.from(text);
  const first = Math.min(...marks.map(({ start }) => start));
  const end = endOf(all, 0, points, lines);
  const start = Number.isFinite(first) && first >= end && first < all.length ? startBefore(all, first) : 0;
  const to = start === 0 ? end : endOf(all, start, points, lines);
  return {
    text: all.slice(start, to).join(""),
    marks: marks
      .filter((mark) => mark.end > start && mark.start < to)
      .map((mark) => ({ start: Math.max(0, mark.start - start), end: Math.min(to, mark.end) - start })),
    before: start > 0,
    after: to < all.length,
  };
}

/** Return where a part from `start` ends: at its limits, or at the last gap before them, if that is near. */
function endOf(all: readonly string[], start: number, points: number, lines: number): number {
  let [end, newlines] = [start, 0];
  while (end < all.length && end - start < points && newlines < lines) {
    if (all[end] === "\n") newlines += 1;
    end += 1;
  }
  if (end === all.length) return end;
  for (let at = end; at > Math.max(start, end - 40); at -= 1) if (isGap(all[at - 1])) return at;
  return end;
}

/** Return the beginning of a line or word shortly before a place. */
function startBefore(all: readonly string[], place: number): number {
  const least = Math.max(0, place - LEAD);
  const line = all.lastIndexOf("\n", place - 1) + 1;
  if (line > least) return line;
  for (let at = least; at < place; at += 1) if (at === 0 || isGap(all[at - 1])) return at;
  return least;
}

function isGap(point: string | undefined): boolean {
  return point !== undefined && /\s/u.test(point);
}
