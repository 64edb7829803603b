import { expect, it, vi } from "vitest";

vi.mock("../state/preferences", () => ({ language: { value: "es" } }));

const { sourceName } = await import("./sources");

it("says a source in plain words, and leaves the name of one that it does not know", () => {
  expect(sourceName("full_text")).toBe("texto");
  expect(sourceName("memory.dense")).toBe("memoria, significado");
  for (const step of ["describe", "diversification", "neighbour_expansion", "highlight", "question_rewriter"])
    expect(sourceName(step)).not.toBe(step);
  expect(sourceName("wiki")).toBe("wiki");
  expect(sourceName("constructor")).toBe("constructor");
});
