import { describe, expect, it } from "vitest";
import { pieces, spanOf, spansOf } from "./spans";

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

describe("a quotation as the service gives it", () => {
  const marked = (quote: string, text: string) =>
    pieces(text, spansOf(quote, text)).flatMap((piece) => (piece.marked ? piece.text : []));

  it.each([
    ["Vea ‹img src=x›[el plan] (a.md) y fin.", "Vea <img src=x>[el plan](a.md)\ny fin."],
    ["facturagpj.exe شركة fin.", "factura\u202egpj.exe\u202c \u2066\u2067شركة\u2069 \u200f fin."],
    ["plazo de pago", "\ufeffpla\u00adzo\u200b de\u0085pago"],
  ])("is found where it was made harmless: %s", (quote, text) => {
    expect(marked(quote, `😀 ${text} Y más.`).join("")).toBe(text.replace(/^\ufeff/, ""));
  });

  it("is found where it joins several", () => {
    const text = "Uno es esto. Dos es\naquello. Tres … no.";
    expect(marked("Dos es aquello. … Uno es esto.", text)).toEqual(["Uno es esto.", "Dos es\naquello."]);
    expect(marked("Tres … no.", text)).toEqual(["Tres … no."]);
    expect(marked("Dos es aquello. … Falta.", text)).toEqual(["Dos es\naquello."]);
    expect(marked("Falta.", text)).toEqual([]);
  });
});
