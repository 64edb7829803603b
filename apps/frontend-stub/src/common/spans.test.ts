import { describe, expect, it } from "vitest";
import { pieces, spanOf } from "./spans";

describe("pieces", () => {
  it("cuts by code points, not by the units of JavaScript", () => {
    expect(pieces("a😀b", [{ start: 1, end: 2 }])).toEqual([
      { text: "a", marked: false },
      { text: "😀", marked: true },
      { text: "b", marked: false },
    ]);
  });

  it("takes spans that overlap, touch, or lie outside", () => {
    const spans = [
      { start: 2, end: 99 },
      { start: -3, end: 1 },
      { start: 2, end: 3 },
    ];
    expect(pieces("abcd", spans).map(({ text, marked }) => (marked ? text.toUpperCase() : text))).toEqual([
      "A",
      "b",
      "CD",
    ]);
  });

  it("gives the text back, whatever is marked", () => {
    expect(pieces("", [{ start: 0, end: 3 }])).toEqual([]);
    expect(
      pieces("uno dos", [{ start: 4, end: 7 }])
        .map((piece) => piece.text)
        .join(""),
    ).toBe("uno dos");
  });
});

describe("spanOf", () => {
  it("finds a quotation across other white space", () => {
    const text = "😀 El plazo\n  de entrega.";
    expect(spanOf("El plazo de", text)).toEqual({ start: 2, end: 15 });
  });

  it("says where there is none", () => {
    expect(spanOf("otro", "El plazo")).toBeNull();
    expect(spanOf("  ", "El plazo")).toBeNull();
  });
});
