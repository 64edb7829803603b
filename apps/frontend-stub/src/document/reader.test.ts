import { beforeAll, expect, it, vi } from "vitest";
import type { Shown } from "./passages";
import type * as reading from "./reader";

let Reader: typeof reading.Reader;

beforeAll(async () => {
  vi.stubGlobal("document", { baseURI: "http://test.invalid/" });
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("addEventListener", vi.fn());
  Reader = (await import("./reader")).Reader;
});

it("counts all that is found, and marks what is about the one that is gone to", () => {
  const reader = new Reader("a.md");
  reader.passages.value = Array.from({ length: 300 }, () => ({ text: "a ".repeat(100) }) as Shown);
  reader.query.value = "a";
  for (const [current, index] of [
    [0, 0],
    [12_345, 123],
    [29_999, 299],
  ] as const) {
    reader.current.value = current;
    expect(reader.hits.value).toHaveLength(30_000);
    const marked = [...reader.marks.value.values()].flat();
    expect(marked.length).toBeLessThan(2000);
    expect(reader.marks.value.get(index)).toContainEqual(reader.hits.value[current]?.span);
  }
});
