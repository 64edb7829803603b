import { describe, expect, it } from "vitest";
import type { Result } from "../client/api";
import { pieces } from "../common/spans";
import { type Citation, excerptOf, partsOf, passageOf, placeOf } from "./citations";

const CITATION: Citation = {
  n: 1,
  document_id: "d",
  external_id: "d.md",
  title: "D",
  quote: "treinta días",
  path: "d.md",
  line_start: 4,
  line_end: 4,
  page: null,
  collection: "artifact_chunks",
};

function result(id: string, text: string, [from, to]: [number, number], document = "d"): Result {
  const citation = { path: "d.md", title: "D", line_start: from, line_end: to, page: null };
  return { id, text, document_id: document, collection: "artifact_chunks", citation } as Result;
}

const RESULTS = [
  result("1", "treinta días", [1, 9], "other"),
  result("2", "nada", [1, 4]),
  result("3", "son treinta\ndías.", [3, 5]),
  result("4", "treinta días", [30, 31]),
];

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
  it("goes by the passage's name", () => {
    expect(passageOf({ ...CITATION, chunk_id: "4" }, RESULTS)?.id).toBe("4");
  });

  it("finds the passage of the document that stands there and holds the words", () => {
    expect(passageOf(CITATION, RESULTS)?.id).toBe("3");
    expect(passageOf({ ...CITATION, document_id: "none" }, RESULTS)).toBeNull();
    expect(passageOf(CITATION, [])).toBeNull();
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
