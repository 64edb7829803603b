import { signal } from "@preact/signals";

/** A place in a document: lines count from 1; `quote` is marked where it is found. */
export type Place = { lineStart?: number; lineEnd?: number; page?: number; quote?: string };

export type Route =
  | { view: "ask" }
  | { view: "search"; query?: string }
  | { view: "documents" }
  | { view: "document"; id: string; place: Place }
  | { view: "health" };

export type View = Route["view"];

/**
 * Where the person is. It stands behind the `#` of the address: the page has one address for the service, whatever
 * prefix it is under, and nothing of it is sent.
 */
export const route = signal<Route>(routeOf(location.hash));

/** Marks a place in the history of this tab: a place that the page was at with another key names what that key saw. */
type Mark = { page: number; owner: number };

let owner = 0;
if (history.state === null) markPlace(); // where the page was opened; after a reload it is marked

addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#/") && location.hash !== "") return; // it is `#main`
  const mark = history.state as Mark | null;
  if (mark?.page === performance.timeOrigin && mark.owner !== owner) stand(bare(routeOf(location.hash)));
  else {
    if (mark === null) markPlace();
    route.value = routeOf(location.hash);
  }
});

/** With another key the address, and those one comes back to, name nothing that was seen with the one before. */
export function leavePlaces(): void {
  owner += 1;
  stand(bare(route.peek()));
}

function stand(at: Route): void {
  history.replaceState({ page: performance.timeOrigin, owner } satisfies Mark, "", href(at));
  route.value = at;
}

function markPlace(): void {
  history.replaceState({ page: performance.timeOrigin, owner } satisfies Mark, "");
}

/** Return the view of a place, without what was looked at in it. */
function bare({ view }: Route): Route {
  return { view: view === "document" ? "documents" : view };
}

export function go(to: Route): void {
  location.hash = href(to);
}

/** Return the relative address of a place on the page. */
export function href(to: Route): string {
  const parameters = new URLSearchParams();
  if (to.view === "search" && to.query) parameters.set("q", to.query);
  if (to.view === "document") {
    const { lineStart, lineEnd, page, quote } = to.place;
    if (lineStart !== undefined) parameters.set("from", String(lineStart));
    if (lineEnd !== undefined) parameters.set("to", String(lineEnd));
    if (page !== undefined) parameters.set("page", String(page));
    if (quote !== undefined) parameters.set("quote", quote);
  }
  const path = to.view === "document" ? `document/${encodeURIComponent(to.id)}` : to.view;
  const query = parameters.toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parameters = new URLSearchParams(query);
  if (path === "search") {
    const asked = parameters.get("q");
    return asked === null ? { view: "search" } : { view: "search", query: asked };
  }
  if (path === "documents" || path === "health") return { view: path };
  const id = path.startsWith("document/") ? decoded(path.slice("document/".length)) : "";
  return id ? { view: "document", id, place: placeOf(parameters) } : { view: "ask" };
}

function placeOf(parameters: URLSearchParams): Place {
  const place: Place = {};
  const [from, to, page] = ["from", "to", "page"].map((name) => numberOf(parameters.get(name)));
  if (from !== undefined) place.lineStart = from;
  if (to !== undefined) place.lineEnd = to;
  if (page !== undefined) place.page = page;
  const quote = parameters.get("quote");
  if (quote !== null) place.quote = quote;
  return place;
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
