import { describe, expect, it } from "vitest";
import type { AnswerCitation, Result } from "../client/api";
import { pieces } from "../common/spans";
import { excerptOf, partsOf, passageOf, placeOf } from "./citations";

const CITATION: AnswerCitation = {
  n: 1,
  document_id: "d",
  external_id: "d.md",
  title: "D",
  quote: "treinta días",
  path: "d.md",
  line_start: 4,
  line_end: 4,
  page: null,
  recognition_confidence: null,
  collection: "artifact_chunks",
  chunk_id: "4",
};

const result = (id: string, collection: string) => ({ id, collection }) as Result;

describe("partsOf", () => {
  it("takes as citations those that there are", () => {
    expect(partsOf("a [1][2] b [9]", new Map([[1, CITATION]]))).toEqual([
      { text: "a ", n: null },
      { text: "[1]", n: 1 },
      { text: "[2] b [9]", n: null },
    ]);
  });
});

describe("passageOf", () => {
  it("goes by the passage's name within its collection", () => {
    const passages = [result("3", "artifact_chunks"), result("4", "memory"), result("4", "artifact_chunks")];
    expect(passageOf(CITATION, passages)).toBe(passages[2]);
    expect(passageOf(CITATION, passages.slice(0, 2))).toBeNull();
  });
});

describe("excerptOf", () => {
  const marked = ({ text, marks }: { text: string; marks: { start: number; end: number }[] }) =>
    pieces(text, marks).flatMap((piece) => (piece.marked ? [piece.text] : []));

  it("shows what surrounds the quoted words of a long passage, and them marked", () => {
    const text = `${"😀 ".repeat(2000)}treinta días${" x".repeat(2000)}`;
    const excerpt = excerptOf("treinta días", text, false);
    expect(excerpt.whole).toBe(false);
    expect(Array.from(excerpt.text).length).toBe(500 + 12 + 500 + 2);
    expect(marked(excerpt)).toEqual(["treinta días"]);
    expect(marked(excerptOf("treinta días", text, true))).toEqual(["treinta días"]);
  });

  it("marks nothing where the words are not in the passage", () => {
    expect(excerptOf("otras", "nada", false)).toEqual({ text: "nada", marks: [], whole: true });
    expect(excerptOf("otras", "y".repeat(5000), false).text).toBe(`${"y".repeat(1000)}…`);
  });
});

it("leads to the lines, and to the page where there is one", () => {
  expect(placeOf(CITATION)).toEqual({ lineStart: 4, lineEnd: 4, quote: "treinta días" });
  expect(placeOf({ ...CITATION, page: 7 }).page).toBe(7);
});
