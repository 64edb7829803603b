import { beforeAll, expect, it, vi } from "vitest";
import type { Problem } from "../client/errors";
import type * as telling from "./problems";

let problemText: typeof telling.problemText;

beforeAll(async () => {
  vi.stubGlobal("navigator", { languages: ["es"] });
  vi.stubGlobal("document", { documentElement: { dataset: {} } });
  problemText = (await import("./problems")).problemText;
});

const problem = (code: string, reason: string | null = null, errors: Problem["errors"] = []): Problem => ({
  type: "t",
  title: "t",
  status: 503,
  detail: "In English.",
  code,
  errors,
  request_id: "r",
  reason,
  checks: null,
});

it.each([
  [problem("storage_unavailable", "pool_exhausted"), "La base de datos tiene todas las conexiones ocupadas."],
  [problem("answerer_unavailable", "timeout"), "El modelo que escribe las respuestas no ha respondido a tiempo."],
  [problem("answerer_unavailable", "new_reason"), "El modelo que escribe las respuestas no responde."],
  [
    problem("answerer_unavailable", "too_long"),
    "El modelo ha escrito más de lo que cabe en una respuesta. Pregunta por algo más concreto.",
  ],
  [
    problem("forbidden", null, [{ field: "Authorization", message: "m", limit: "ask", remedy: "r" }]),
    "Le falta el permiso «ask». Pide a quien administra el servicio una clave que lo tenga.",
  ],
  [problem("embedder_unavailable"), "El modelo de vectores no responde."],
  [problem("too_many_requests", "tokens"), "Tu clave ha gastado los tokens que tiene para hoy. Buscar no los gasta."],
  [problem("busy", "busy"), "Está ocupado con otras peticiones. Vuelve a intentarlo en unos segundos."],
])("a known problem is told in the reader's language: %o", (told, text) => {
  expect(problemText(told)).toBe(text);
});

it("one that is not known is left to the service's own words", () => {
  expect(problemText(problem("new_code"))).toBeNull();
  expect(problemText(problem("constructor"))).toBeNull();
  expect(problemText(problem("invalid_input"))).toBeNull();
});
