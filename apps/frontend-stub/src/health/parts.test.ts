import { afterEach, expect, it, vi } from "vitest";

const language = vi.hoisted(() => ({ value: "es" }));
vi.mock("../state/preferences", () => ({ language }));

const { lacksDatabase, partName, reasonOf, remedyOf } = await import("./parts");

const part = (source: string, fields: object = {}) => ({
  source,
  state: "out" as const,
  reason: "made_up",
  says: "It is out.",
  remedy: "Run `ragcorp doctor`.",
  ...fields,
});

afterEach(() => {
  language.value = "es";
});

it("names what a part is for", () => {
  expect(partName("memory.dense")).toBe("Recuerdos, por significado");
  expect(partName("wiki.full_text")).toBe("wiki, texto");
  expect(partName("constructor")).toBe("constructor");
});

it("tells reason and remedy in the reader's language where there are words for them, and marks what is English", () => {
  expect(reasonOf(part("wiki"))).toEqual({ text: "It is out.", lang: "en" });
  expect(remedyOf(part("wiki"))).toEqual({ text: "Run “ragcorp doctor”.", lang: "en" });
  expect(remedyOf(part("database"))).toEqual({ text: "«ragcorp doctor» dice más." });
  expect(remedyOf(part("wiki", { reason: "circuit_half_open" }))).toEqual({ text: "Busca algo y vuelve a mirar." });
  expect(remedyOf(part("database", { remedy: null }))).toBeNull();
  language.value = "en";
  expect(remedyOf(part("database"))).toEqual({ text: "Run “ragcorp doctor”." });
});

it("tells of a dead database once", () => {
  const dense = part("dense");
  expect(lacksDatabase(dense, [part("database"), dense])).toBe(true);
  expect(lacksDatabase(dense, [part("database", { state: "ok" }), dense])).toBe(false);
  expect(lacksDatabase(part("database"), [part("database")])).toBe(false);
});
