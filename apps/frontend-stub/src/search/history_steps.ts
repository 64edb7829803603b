import { href, type Route, route, routeOf } from "../state/route";

/**
 * Keeps the query in the address. What is being typed is one step of the history, however often typing rests: nobody
 * goes back through each word. What was sent, or come back to, is a step that later typing leaves where it is.
 */
export class HistorySteps {
  private typing: string | null = null;

  /** Put the query in the address; `settled`: the person said so, rather than paused. */
  write(query: string, settled: boolean): void {
    const at = routeOf(location.hash);
    if (at.view !== "search") return; // who has just gone elsewhere is not taken back
    const on = at.query ?? "";
    if (on === query) {
      if (settled) this.typing = null;
      return;
    }
    const [to, more] = [addressOf(query), on !== "" && on !== this.typing];
    if (more) history.pushState(history.state, "", href(to));
    else history.replaceState(history.state, "", href(to));
    this.typing = settled ? null : query;
    route.value = to;
  }
}

/** Change the address without a step in the history. */
export function replaceAddress(query: string): void {
  if (routeOf(location.hash).view !== "search") return;
  const to = addressOf(query);
  history.replaceState(history.state, "", href(to));
  route.value = to;
}

function addressOf(query: string): Route {
  return query === "" ? { view: "search" } : { view: "search", query };
}
