import type { components } from "../client/schema";
import { type Span, spansOf } from "../common/spans";
import type { Place } from "../state/route";

export type StoredChunk = components["schemas"]["StoredChunk"];

/** A passage as it is read in its document: without what the one before has shown already. */
export type Shown = { chunk: StoredChunk; text: string; lineStart: number };

/** Where a place is: the passage to open at, and what is marked in which. `exact`: all that was asked for was found. */
export type Located = { target: number; marks: ReadonlyMap<number, Span[]>; exact: boolean };

/** Return the passages as they are read one after another; `before` is the last one that is shown already. */
export function continued(before: StoredChunk | null, chunks: readonly StoredChunk[]): Shown[] {
  let last = before;
  return chunks.map((chunk) => {
    const text = chunk.text.slice(repeated(last, chunk));
    last = chunk;
    return { chunk, text, lineStart: chunk.line_end - newlines(text) };
  });
}

/**
 * Return how many characters at the start of a passage repeat what came before it: the header of a table, whose lines
 * its numbers do not count, or the end of the passage before, whole words of which white space follows.
 */
function repeated(last: StoredChunk | null, { text, line_start, line_end }: StoredChunk): number {
  if (last === null) return 0;
  const header = newlines(text) - (line_end - line_start);
  if (header > 0) return text.split("\n", header).join("\n").length + 1;
  const lines = last.line_end - line_start;
  if (lines < 0) return 0;
  for (let length = Math.min(last.text.length, text.length - 1); length > 0; length -= 1) {
    if (!/\s/u.test(text.charAt(length))) continue;
    const start = text.slice(0, length);
    if (last.text.endsWith(start) && newlines(start) === lines)
      return length + (/^\s+/u.exec(text.slice(length))?.[0].length ?? 0);
  }
  return 0;
}

/** Say whether the passages reach as far as a place needs; a quotation alone may be anywhere. */
export function reaches(passages: readonly Shown[], place: Place): boolean {
  const last = passages.at(-1)?.chunk;
  if (last === undefined) return false;
  const { lineStart, lineEnd = lineStart, page, quote } = place;
  if (lineEnd !== undefined) return last.line_start > lineEnd;
  if (page !== undefined) return (last.page_start ?? 0) > page;
  return quote === undefined || locate(passages, place) !== null;
}

/** Return where a place is among the passages, null where nothing of it is. */
export function locate(passages: readonly Shown[], place: Place): Located | null {
  const within = passages.map(({ chunk }, index) => (isAt(chunk, place) ? index : -1)).filter((index) => index >= 0);
  const [first, last] = [within[0], within.at(-1)];
  if (place.quote !== undefined) {
    const quoted =
      (first !== undefined && last !== undefined && quotedIn(passages, first - 1, last + 2, place.quote)) ||
      quotedAnywhere(passages, place.quote);
    if (quoted) return { target: Math.min(...quoted.keys()), marks: quoted, exact: true };
  }
  if (first === undefined) return null;
  return { target: first, marks: linesIn(passages, within, place), exact: place.quote === undefined };
}

function isAt({ line_start, line_end, page_start, page_end }: StoredChunk, place: Place): boolean {
  const { lineStart, lineEnd = lineStart, page } = place;
  if (lineStart !== undefined && lineEnd !== undefined) return line_start <= lineEnd && line_end >= lineStart;
  return page !== undefined && page_start !== null && page_start <= page && (page_end ?? page_start) >= page;
}

function quotedAnywhere(passages: readonly Shown[], quote: string): Map<number, Span[]> | null {
  for (let at = 0; at < passages.length; at += 1) {
    const found = quotedIn(passages, at, at + 2, quote);
    if (found) return found;
  }
  return null;
}

/** Look for a quotation in the passages from `from` up to `to` as one text: it may go from one into the next. */
function quotedIn(passages: readonly Shown[], from: number, to: number, quote: string): Map<number, Span[]> | null {
  const start = Math.max(0, from);
  const some = passages.slice(start, to);
  const spans = spansOf(quote, some.map((each) => each.text).join("\n"));
  if (spans.length === 0) return null;
  const marks = new Map<number, Span[]>();
  let offset = 0;
  some.forEach(({ text }, index) => {
    const length = Array.from(text).length;
    const parts = spans
      .map((span) => ({ start: Math.max(0, span.start - offset), end: Math.min(length, span.end - offset) }))
      .filter((part) => part.start < part.end);
    if (parts.length > 0) marks.set(start + index, parts);
    offset += length + 1;
  });
  return marks;
}

function linesIn(passages: readonly Shown[], within: readonly number[], place: Place): Map<number, Span[]> {
  const { lineStart, lineEnd = lineStart } = place;
  const marks = new Map<number, Span[]>();
  if (lineStart === undefined || lineEnd === undefined) return marks;
  for (const index of within) {
    const passage = passages[index];
    if (passage === undefined) continue;
    const spans: Span[] = [];
    let offset = 0;
    passage.text.split("\n").forEach((line, row) => {
      const length = Array.from(line).length;
      const number = passage.lineStart + row;
      if (length > 0 && number >= lineStart && number <= lineEnd) spans.push({ start: offset, end: offset + length });
      offset += length + 1;
    });
    marks.set(index, spans);
  }
  return marks;
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}
