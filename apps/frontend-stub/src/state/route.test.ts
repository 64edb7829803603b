import { beforeAll, describe, expect, it, vi } from "vitest";
import type * as routes from "./route";

let page: typeof routes;
let cameTo: () => void;

beforeAll(async () => {
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal(
    "addEventListener",
    vi.fn((_: string, listener: () => void) => (cameTo = listener)),
  );
  vi.stubGlobal("history", {
    state: null,
    replaceState(state: unknown, _: string, hash?: string) {
      (history as { state: unknown }).state = state;
      if (hash !== undefined) location.hash = hash;
    },
  });
  page = await import("./route");
});

describe("the address of a document", () => {
  it.each([
    "contratos/marco-2025.md",
    "100 % seguro?.md",
    "a#b&c=d.txt",
    "../../etc/passwd",
    "año 2026/ñ 😀\u202e.pdf",
    "%2F%3F",
  ])("leads back to it: %s", (id) => {
    const place = { lineStart: 3, lineEnd: 9, page: 2, quote: "a & b = 100 %\n#1" };
    expect(page.routeOf(page.href({ view: "document", id, place }))).toEqual({ view: "document", id, place });
    expect(page.routeOf(page.href({ view: "document", id, place: {} }))).toEqual({ view: "document", id, place: {} });
  });
});

it("leads back to a search", () => {
  const query = "¿100 % de A&B? #1 + x";
  expect(page.routeOf(page.href({ view: "search", query }))).toEqual({ view: "search", query });
  expect(page.routeOf(page.href({ view: "search" }))).toEqual({ view: "search" });
});

it("takes an address that is none for the first view", () => {
  for (const hash of ["", "#", "#/", "#/nada", "#/document/", "#/document/%E0%A4%A", "#main"]) {
    expect(page.routeOf(hash)).toEqual({ view: "ask" });
  }
});

it("drops a place that is no number", () => {
  expect(page.routeOf("#/document/a?from=x&to=-1&page=1e9")).toEqual({ view: "document", id: "a", place: {} });
});

describe("what was looked at with one key", () => {
  const visit = (hash: string, state: unknown = null) => {
    location.hash = hash;
    (history as { state: unknown }).state = state;
    cameTo();
    return history.state;
  };

  it("is not come back to with another", () => {
    visit("#/search?q=secreto");
    const mark = visit("#/document/a?quote=secreto");
    page.leavePlaces();
    expect([location.hash, page.route.value]).toEqual(["#/documents", { view: "documents" }]);
    const before = visit("#/search?q=secreto", mark);
    expect([location.hash, page.route.value]).toEqual(["#/search", { view: "search" }]);
    expect(before).not.toEqual(mark);
  });

  it("is come back to with the same, and after a reload", () => {
    const mark = visit("#/search?q=mio");
    visit("#/ask");
    visit("#/search?q=mio", mark);
    expect(page.route.value).toEqual({ view: "search", query: "mio" });
    visit("#/search?q=antes", { page: -1, owner: 0 });
    expect(page.route.value).toEqual({ view: "search", query: "antes" });
  });
});
