import { describe, expect, it } from "vitest";
import { MOST_CHARACTERS } from "../common/question";
import { Draft, leaveWithoutKey, takeLeft } from "./draft";

const ASKED = ["uno", "dos"];

describe("Draft", () => {
  it("brings questions back and forth, and never over what is typed", () => {
    const draft = new Draft();
    expect(draft.recall(ASKED, -1)).toBe(false);
    const seen = [1, 1, 1, -1, -1].map((step) => [draft.recall(ASKED, step as 1 | -1), draft.text.value]);
    expect(seen).toEqual([
      [true, "dos"],
      [true, "uno"],
      [false, "uno"],
      [true, "dos"],
      [true, ""],
    ]);
    draft.write("mía");
    expect(draft.recall(ASKED, 1)).toBe(false);
    expect(draft.text.value).toBe("mía");
  });

  it("counts characters as the service does", () => {
    const draft = new Draft();
    draft.write("😀".repeat(MOST_CHARACTERS));
    expect(draft.over.value).toBe(0);
    draft.write(`${draft.text.value}aa`);
    expect(draft.over.value).toBe(2);
  });
});

it("keeps what was typed without a key for who then has one, once", () => {
  leaveWithoutKey("mi pregunta");
  expect([takeLeft(), takeLeft()]).toEqual(["mi pregunta", ""]);
});

it("asks for what the service takes", () => {
  const draft = new Draft();
  draft.write(`${"x".repeat(2000)}\n\n`);
  expect([draft.over.value, draft.question.value.length]).toEqual([0, 2000]);
  draft.write(`${"x".repeat(2001)}\n`);
  expect(draft.over.value).toBe(1);
  draft.write("a\0b\ud83d c\udcaf 😀");
  expect(draft.question.value).toBe("ab c 😀");
  for (const nothing of ["", "\n", "\u200b \u00a0", "\ufeff\u2060", "\0"]) {
    draft.write(nothing);
    expect(draft.blank.value).toBe(true);
  }
});
