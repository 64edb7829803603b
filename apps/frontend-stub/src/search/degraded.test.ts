import { expect, it, vi } from "vitest";

vi.mock("../state/preferences", () => ({ language: { value: "es" } }));

const { degradedText } = await import("./degraded");

it("tells a source and its reason in plain words", () => {
  expect(degradedText({ source: "dense", reason: "timeout" })).toBe("Significado: no ha respondido a tiempo.");
  expect(degradedText({ source: "graph", reason: "filter:language,year" })).toBe(
    "Grafo: no conoce language, year, por lo que se filtra.",
  );
  expect(degradedText({ source: "grep", reason: "scope:tools" })).toBe("Archivos: tu clave no tiene el permiso tools.");
});

it("leaves the code of a reason that it does not know", () => {
  expect(degradedText({ source: "wiki", reason: "moon" })).toBe("Wiki: no ha hecho su parte (moon).");
  expect(degradedText({ source: "wiki", reason: "title" })).toContain("(title)");
});
