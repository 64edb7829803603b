import { expect, it } from "vitest";
import { moved } from "./keyboard";

it("moves by one, to both ends, and from the first place out of the list", () => {
  expect(["ArrowDown", "j", "ArrowUp", "k", "Home", "End"].map((key) => moved(key, 3, 10))).toEqual([4, 4, 2, 2, 0, 9]);
  expect(moved("ArrowDown", 9, 10)).toBe(9);
  expect(moved("ArrowUp", 0, 10)).toBe(-1);
  expect(moved("x", 3, 10)).toBeNull();
});
