import { describe, expect, it } from "vitest";
import { continued, locate, type StoredChunk } from "./passages";

function chunk(text: string, line_start: number, line_end: number, page: number | null = null): StoredChunk {
  return {
    collection: "artifact_chunks",
    id: `${line_start}:${text.length}`,
    document_id: "",
    external_id: "a.md",
    chunk_index: 0,
    text,
    title: "",
    heading_path: [],
    language: "es",
    path: null,
    metadata: {},
    line_start,
    line_end,
    page_start: page,
    page_end: page,
    recognition_confidence: null,
  };
}

const texts = (chunks: StoredChunk[]) => continued(null, chunks).map(({ text }) => text);

describe("continued", () => {
  it("leaves out the words that the passage before has shown", () => {
    expect(texts([chunk("Uno. Dos.", 1, 1), chunk("Dos. Tres.", 1, 1)])).toEqual(["Uno. Dos.", "Tres."]);
  });

  it("leaves out the header that the rows of a table are given again", () => {
    const [, rows] = continued(null, [chunk("|a|\n|-|\n|1|", 1, 3), chunk("|a|\n|-|\n|2|\n|3|", 4, 5)]);
    expect(rows).toMatchObject({ text: "|2|\n|3|", lineStart: 4 });
  });

  it("keeps what is alike and is no repetition", () => {
    expect(texts([chunk("aaaa", 1, 1), chunk("aaaa", 1, 1)])).toEqual(["aaaa", "aaaa"]);
    expect(texts([chunk("uno\nfin", 1, 2), chunk("fin tres", 3, 3)])).toEqual(["uno\nfin", "fin tres"]);
  });
});

describe("locate", () => {
  const passages = continued(null, [chunk("uno\ndos", 1, 2, 1), chunk("tres 😀\ncuatro", 3, 4, 2)]);

  it("marks a quotation that goes from one passage into the next", () => {
    const located = locate(passages, { lineStart: 2, lineEnd: 3, quote: "dos tres 😀" });
    expect(located).toMatchObject({ target: 0, exact: true });
    expect([...(located?.marks ?? [])]).toEqual([
      [0, [{ start: 4, end: 7 }]],
      [1, [{ start: 0, end: 6 }]],
    ]);
  });

  it("marks lines where the quotation is not there any more, and says so", () => {
    const located = locate(passages, { lineStart: 4, quote: "cinco" });
    expect(located).toMatchObject({ target: 1, exact: false });
    expect(located?.marks.get(1)).toEqual([{ start: 7, end: 13 }]);
  });

  it("finds a page, and says where there is nothing", () => {
    expect(locate(passages, { page: 2 })?.target).toBe(1);
    expect(locate(passages, { page: 9 })).toBeNull();
  });
});
