import { beforeEach, expect, it, vi } from "vitest";

let places: string[];

beforeEach(() => {
  places = ["#/search"];
  vi.stubGlobal("addEventListener", vi.fn());
  vi.stubGlobal("location", {
    get hash() {
      return places.at(-1);
    },
  });
  vi.stubGlobal("history", {
    state: null,
    pushState: (_: unknown, __: string, to: string) => places.push(to),
    replaceState: (_: unknown, __: string, to = places.at(-1) ?? "") => places.splice(-1, 1, to),
  });
});

async function steps() {
  const { HistorySteps } = await import("./history_steps");
  return new HistorySteps();
}

it("makes one step of what is typed, and leaves what was sent where it is", async () => {
  const history = await steps();
  for (const typed of ["pla", "plazo"]) history.write(typed, false);
  expect(places).toEqual(["#/search?q=plazo"]);
  history.write("plazo", true);
  for (const typed of ["", "va", "vacaciones"]) history.write(typed, false);
  expect(places).toEqual(["#/search?q=plazo", "#/search?q=vacaciones"]);
  history.write("vacaciones de verano", true);
  expect(places).toEqual(["#/search?q=plazo", "#/search?q=vacaciones+de+verano"]);
});

it("leaves where it is what was come back to, and another view", async () => {
  const history = await steps();
  history.write("plazo", false);
  history.write("plazo", true);
  history.write("otra", false);
  places.pop(); // back
  history.write("tercera", false);
  expect(places).toEqual(["#/search?q=plazo", "#/search?q=tercera"]);
  places.push("#/ask");
  history.write("cuarta", false);
  expect(places.at(-1)).toBe("#/ask");
});
