import { expect, it, vi } from "vitest";

vi.mock("../state/preferences", () => ({ language: { value: "es" }, locale: { value: "es" } }));

const { waiting } = await import("./waiting");

it("tells a time to wait in its largest unit, and never a shorter one", () => {
  expect([0.2, 1, 8, 99].map(waiting)).toEqual(["1 segundo", "1 segundo", "8 segundos", "99 segundos"]);
  expect([100, 731, 5999].map(waiting)).toEqual(["2 minutos", "13 minutos", "100 minutos"]);
  expect([6000, 86_400].map(waiting)).toEqual(["2 horas", "24 horas"]);
});
