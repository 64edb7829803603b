import { expect, it } from "vitest";
import { hitsIn } from "./find";

it("finds words whatever their capitals, accents and forms of Unicode", () => {
  expect(hitsIn(["La Garanti\u0301a", "ni una", "garantía"], "GARANTÍA")).toEqual([
    { index: 0, span: { start: 3, end: 12 } },
    { index: 2, span: { start: 0, end: 8 } },
  ]);
});

it("finds words that a line breaks between", () => {
  const [hit] = hitsIn(["el plazo \n\n  de\tentrega"], " plazo de  entrega");
  expect(hit?.span).toEqual({ start: 3, end: 23 });
  expect(hitsIn(["😀 a\nb"], "a b")[0]?.span).toEqual({ start: 2, end: 5 });
});
