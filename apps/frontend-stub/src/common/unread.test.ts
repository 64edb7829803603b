import { expect, it, vi } from "vitest";

const preferences = vi.hoisted(() => ({ language: { value: "es" }, locale: { value: "es" } }));
vi.mock("../state/preferences", () => preferences);
vi.mock("../state/route", () => ({ href: () => "" }));

const { unreadWords } = await import("./unread");

it("says in both languages how much was not read", () => {
  expect(unreadWords({ kind: "page", count: 1, places: ["2"] })).toBe("1 página no tiene texto");
  expect(unreadWords({ kind: "image", count: 12_345, places: [] })).toBe("12.345 imágenes no se han leído");
  preferences.language.value = "en";
  expect(unreadWords({ kind: "page", count: 2, places: ["2", "4"] })).toBe("2 pages have no text");
  expect(unreadWords({ kind: "hidden_sheet", count: 1, places: [] })).toBe("1 hidden sheet was not read");
});
