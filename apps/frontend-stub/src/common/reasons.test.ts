import { expect, it, vi } from "vitest";

vi.mock("../state/preferences", () => ({ language: { value: "es" } }));

const { reasonText } = await import("./reasons");

it("says why in plain words, with what it is about", () => {
  expect(reasonText("timeout")).toBe("no ha respondido a tiempo");
  expect(reasonText("invalid")).toBe("ha dado una lista que no sirve");
  expect(reasonText("scope:tools")).toBe("tu clave no lo permite (le falta «tools»)");
  expect(reasonText("filter: speaker, session")).toContain("(speaker, session)");
});

it("leaves a code that it does not know", () => {
  expect(reasonText("sqlstate_57P01")).toBe("sqlstate_57P01");
  expect(reasonText("toString")).toBe("toString");
});
