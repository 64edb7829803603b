import { expect, it } from "vitest";
import { excerpt } from "./excerpt";

const WORDS = Array.from({ length: 200 }, (_, index) => `p${String(index).padStart(3, "0")}`).join(" "); // 5 points a word

it("leaves a short text as it is", () => {
  expect(excerpt("El plazo", [{ start: 3, end: 8 }])).toEqual({
    text: "El plazo",
    marks: [{ start: 3, end: 8 }],
    before: false,
    after: false,
  });
});

it("cuts between words, and marks what is left", () => {
  const cut = excerpt(WORDS, [{ start: 5, end: 9 }], { points: 52 });
  expect(cut.text).toBe("p000 p001 p002 p003 p004 p005 p006 p007 p008 p009 ");
  expect(cut).toMatchObject({ marks: [{ start: 5, end: 9 }], before: false, after: true });
});

it("begins shortly before the first mark where that stands too far behind", () => {
  const cut = excerpt(WORDS, [{ start: 500, end: 504 }], { points: 100 });
  const [mark] = cut.marks;
  expect(cut.before).toBe(true);
  expect(Array.from(cut.text).slice(mark?.start, mark?.end).join("")).toBe("p100");
  expect(cut.text.startsWith("p084 ")).toBe(true);
});

it("counts code points and lines, and cuts a word that has no end", () => {
  expect(excerpt("😀".repeat(50), [{ start: 2, end: 99 }], { points: 10 })).toEqual({
    text: "😀".repeat(10),
    marks: [{ start: 2, end: 10 }],
    before: false,
    after: true,
  });
  expect(excerpt("a\nb\nc\nd", [], { lines: 2 }).text).toBe("a\nb\n");
});
