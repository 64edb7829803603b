import { describe, expect, it } from "vitest";
import { Draft, leaveWithoutKey, MOST_CHARACTERS, takeLeft } from "./draft";

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
