import { expect, it } from "vitest";
import type { Result } from "../client/api";
import { lines, movement, twins } from "./comparison";

function list(...names: string[]): Result[] {
  return names.map((name) => {
    const [collection, id] = name.includes(":") ? name.split(":") : ["artifact_chunks", name];
    return { collection, id } as Result;
  });
}

it("finds each passage's place in the other list, by collection and id", () => {
  const other = list("2", "memory:1", "3");
  expect(twins(list("1", "2", "3"), other).map(({ own, other: place }) => [own, place])).toEqual([
    [1, null],
    [2, 1],
    [3, 3],
  ]);
});

it("says how a passage stands against the other list", () => {
  expect(movement({ own: 1, other: 4 })).toBe("up");
  expect(movement({ own: 4, other: 1 })).toBe("down");
  expect(movement({ own: 2, other: 2 })).toBe("same");
  expect(movement({ own: 2, other: null })).toBe("alone");
});

it("draws a line for what both hold alone, and says how it went from left to right", () => {
  expect(lines(list("a", "b", "c"), list("c", "b", "x"))).toEqual([
    { key: "artifact_chunks:b", left: 2, right: 2, kind: "same" },
    { key: "artifact_chunks:c", left: 3, right: 1, kind: "up" },
  ]);
});
