import { batch, computed, signal, untracked } from "@preact/signals";
import { type Asked, api, type Result, type SearchBody, type SearchResults } from "../client/api";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";
import { excessOf, isBlank, questionOf } from "../common/question";
import { keyOf } from "./comparison";
import { type Chosen, type Counts, filtersOf, isWrongWay, NOTHING_CHOSEN } from "./filters";

/** How passages are searched; the last two are profiles of the service, that search more than passages. */
export const MODES = ["auto", "dense", "sparse", "hybrid", "memory", "everything"] as const;
export type Mode = (typeof MODES)[number];

const PAGE = 10;

/** One person's search: what is asked, what was found, and which of it is open. */
export class SearchState {
  readonly typed = signal("");
  /** The query that is searched: what was typed, once typing rests. */
  readonly asked = signal("");
  /** So many characters of it are too many: it is not searched. */
  readonly over = computed(() => excessOf(this.asked.value));
  readonly mode = signal<Mode>("auto");
  readonly chosen = signal<Chosen>(NOTHING_CHOSEN);
  readonly comparing = signal(false);

  readonly loader = new Loader<SearchResults>();
  readonly following = new Loader<SearchResults>();
  private readonly later = signal<readonly Result[]>([]);
  private readonly cursor = signal<string | null>(null);

  readonly results = computed<readonly Result[]>(() => {
    const loading = this.loader.current.value;
    if (this.asked.value === "" || loading.state === "failed" || loading.value === null) return [];
    return unique([...loading.value.results, ...this.later.value]);
  });
  /** How the service found what is shown, where the choice was its own; null where it was not. */
  readonly usedMode = signal<SearchResults["mode_used"] | null>(null);
  readonly hasMore = computed(() => this.cursor.value !== null);

  /** What the query finds without filters, by facet, and which search that was. */
  private readonly counted = signal<{ of: string; counts: Counts | null } | null>(null);
  private readonly counter = new Loader<SearchResults>();
  readonly counts = computed(() => (this.asked.value === "" ? null : (this.counted.value?.counts ?? null)));

  readonly opened = signal<ReadonlySet<string>>(new Set());
  readonly active = signal(0);

  readonly filters = computed(() => filtersOf(this.chosen.value));

  /** Search what is asked now; what was on the way is given up. */
  run(): void {
    const [query, chosen] = [this.asked.peek(), this.chosen.peek()];
    untracked(() => this.stop());
    if (query === "" || this.over.peek() > 0 || isWrongWay(chosen)) return;
    void untracked(() => this.first(query));
  }

  async more(): Promise<void> {
    const cursor = this.cursor.peek();
    if (cursor === null || this.loader.current.peek().state === "loading") return;
    const body = { ...this.body(), cursor };
    let page: SearchResults | null = null;
    await this.following.run(async (signal) => {
      const answer = await send(body, signal);
      if (!signal.aborted) page = answer;
      return answer;
    });
    if (page !== null) this.append(page);
  }

  /** Take what was typed as what is searched, and return it. */
  ask(text: string): string {
    const query = questionOf(text);
    this.asked.value = isBlank(query) ? "" : query;
    return this.asked.peek();
  }

  toggle(key: string): void {
    const opened = new Set(this.opened.peek());
    if (!opened.delete(key)) opened.add(key);
    this.opened.value = opened;
  }

  stop(): void {
    this.loader.stop();
    this.following.stop();
    this.counter.stop();
  }

  private async first(query: string): Promise<void> {
    const body = { ...this.body(), facets: true };
    const mode = this.mode.peek();
    const search = JSON.stringify([query, mode]);
    if (body.filters && this.counted.peek()?.of !== search)
      void this.count({ ...body, filters: null, limit: 1 }, search);
    await this.loader.run(async (signal) => {
      const found = await send(body, signal);
      if (!signal.aborted) this.begin(found, mode, body.filters ? null : search);
      return found;
    });
  }

  private begin(found: SearchResults, mode: Mode, countedFor: string | null): void {
    batch(() => {
      this.usedMode.value = mode === "auto" ? found.mode_used : null;
      this.later.value = [];
      this.cursor.value = found.next_cursor;
      this.opened.value = new Set();
      this.active.value = 0;
      if (countedFor !== null) this.counted.value = { of: countedFor, counts: found.facets };
    });
  }

  private async count(body: Asked<SearchBody, "query">, search: string): Promise<void> {
    await this.counter.run(async (signal) => {
      const found = await send({ ...body, explain: false }, signal);
      if (!signal.aborted) this.counted.value = { of: search, counts: found.facets };
      return found;
    });
    if (this.counter.current.peek().state === "failed") this.counted.value = null;
  }

  private append(page: SearchResults): void {
    batch(() => {
      this.later.value = [...this.later.peek(), ...page.results];
      this.cursor.value = page.next_cursor;
    });
  }

  private body() {
    const [query, mode, filters] = [this.asked.peek(), this.mode.peek(), this.filters.peek()];
    const how = mode === "memory" || mode === "everything" ? { profile: mode } : { mode };
    return { query, ...how, filters, limit: PAGE, explain: true, highlight: true };
  }
}

function send(body: Asked<SearchBody, "query">, signal: AbortSignal): Promise<SearchResults> {
  return answerOf<SearchResults>(api.POST("/search", { body: body as SearchBody, signal }));
}

/** A passage that moved between two pages while they were read is shown once. */
function unique(results: readonly Result[]): Result[] {
  const seen = new Map(results.map((result) => [keyOf(result), result] as const).reverse());
  return results.filter((result) => seen.get(keyOf(result)) === result);
}
