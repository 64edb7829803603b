import { beforeAll, expect, it, vi } from "vitest";
import type * as kinds from "./kinds";

let isCode: typeof kinds.isCode;

beforeAll(async () => {
  vi.stubGlobal("document", { documentElement: { dataset: {} } });
  vi.stubGlobal("navigator", { languages: ["es"] });
  isCode = (await import("./kinds")).isCode;
});

it("knows a program from a text", () => {
  const plain = (filename: string) => isCode({ media_type: "text/plain", filename });
  expect(["a.py", "b.test.ts", "datos.json", "C.SQL"].filter((name) => !plain(name))).toEqual([]);
  expect(["a.txt", "LEEME", "notas.TXT", "v1.2", "acta 3.4.2026", "x.log"].filter(plain)).toEqual([]);
  expect(isCode({ media_type: "application/pdf", filename: "a.pdf" })).toBe(false);
});
