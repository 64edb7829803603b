import { useEffect, useMemo, useRef } from "preact/hooks";
import { DegradedNotice } from "../common/degraded";
import { Empty, ErrorNotice, Progress } from "../common/notices";
import { MOST_CHARACTERS, questionOf } from "../common/question";
import { connection } from "../state/connection";
import { route } from "../state/route";
import { session } from "../state/session";
import { Comparison } from "./comparison_view";
import { Chips, Facets } from "./facets";
import { NOTHING_CHOSEN } from "./filters";
import { HistorySteps, replaceAddress } from "./history_steps";
import { isPlain, isTyping } from "./keyboard";
import { texts } from "./messages";
import { Keys, QueryForm } from "./query_form";
import { focusItem, MoreResults, ResultList } from "./result_list";
import { SearchState } from "./search_state";
import { slash } from "./shortcut";
import "./search.css";

/** Search the passages, narrow what was found, and see why each ranks where it does. */
export function SearchView() {
  const say = texts();
  const state = useMemo(() => new SearchState(), []);
  const steps = useMemo(() => new HistorySteps(), []);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const focusBox = () => {
    box.current?.focus();
    box.current?.select();
  };
  useSearching(state); // before the address is read: else what stands in it is searched twice
  useAddress(state);
  useSlash(focusBox);
  useReturn(state, list);

  const search = (settled: boolean) => {
    const before = state.asked.peek();
    const query = state.ask(state.typed.peek());
    if (settled && query === before) state.run();
    steps.write(query, settled);
  };
  const { asked, comparing, over } = state;
  return (
    <section class="search" aria-labelledby="search-title">
      <h1 id="search-title">{say.title}</h1>
      <QueryForm state={state} box={box} search={search} enterList={() => focusItem(list, 0)} />
      <Keys />
      <div class="search-body">
        <Facets state={state} />
        <div class="search-main">
          <Chips state={state} box={box} />
          {over.value > 0 ? (
            <p class="field-error" role="alert">
              {say.tooLong(MOST_CHARACTERS, over.value)}
            </p>
          ) : comparing.value ? (
            <>
              <h2>{say.compareTitle}</h2>
              <Comparison query={asked.value} filters={state.filters.value} />
            </>
          ) : (
            <Ranking state={state} list={list} leave={focusBox} />
          )}
        </div>
      </div>
    </section>
  );
}

type RankingProps = Parameters<typeof ResultList>[0];

function Ranking({ state, list, leave }: RankingProps) {
  const say = texts();
  const loading = state.loader.current.value;
  const results = state.results.value;
  if (state.asked.value === "") return <Empty title={say.empty} />;
  const done = loading.state === "done" ? loading.value : null;
  const shown = loading.state === "failed" ? null : loading.value; // it stays until the next is there: nothing jumps
  const told = results.length > 0 ? toldOf(state) : "";
  return (
    <>
      <div class="row search-told">
        <h2>{say.results}</h2>
        <span class="quiet" aria-hidden="true">
          {told}
        </span>
        {/* told anew with each search, also where it reads alike */}
        <span class="visually-hidden" role="status">
          {done && told}
        </span>
      </div>
      {shown && <DegradedNotice degraded={shown.degraded} />}
      <Failure state={state} />
      {loading.state === "loading" && (loading.slow || results.length === 0) && <Progress slow={loading.slow} />}
      {done && results.length === 0 && <Nothing state={state} />}
      {results.length > 0 && <ResultList state={state} list={list} leave={leave} />}
      {done && results.length > 0 && <MoreResults state={state} list={list} />}
    </>
  );
}

/** Say how many passages are shown, and how the service found them where that was its choice. */
function toldOf(state: SearchState): string {
  const say = texts();
  const [used, shown] = [state.usedMode.value, state.results.value.length];
  const found = say.found(shown, state.hasMore.value);
  return used === null ? found : `${found} ${say.autoUsed(say[used])}`;
}

/** What stands around the views tells that the service is out of reach, or wants a key; it is not told twice. */
function Failure({ state }: { state: SearchState }) {
  const loading = state.loader.current.value;
  if (loading.state !== "failed") return null;
  const { error } = loading;
  const toldAbove =
    (error.kind === "offline" && connection.offline.value) || (error.kind === "unauthorised" && session.needsKey.value);
  return toldAbove ? null : <ErrorNotice error={error} retry={() => state.run()} />;
}

function Nothing({ state }: { state: SearchState }) {
  const say = texts();
  const oneWay = state.mode.value === "dense" || state.mode.value === "sparse";
  return (
    <Empty title={say.nothing}>
      {state.filters.value !== null && (
        <p>
          {say.tryFilters}{" "}
          <button
            type="button"
            class="button"
            onClick={() => {
              state.chosen.value = NOTHING_CHOSEN;
            }}
          >
            {say.clear}
          </button>
        </p>
      )}
      {oneWay && (
        <p>
          {say.tryMode}{" "}
          <button
            type="button"
            class="button"
            onClick={() => {
              state.mode.value = "hybrid";
            }}
          >
            {say.useHybrid}
          </button>
        </p>
      )}
      <p>{say.tryWords}</p>
    </Empty>
  );
}

/** Keep the query in the address, and take it from there. */
function useAddress(state: SearchState): void {
  const at = route.value;
  useEffect(() => {
    const now = route.peek(); // the view before this one may have taken its query away since
    if (now.view !== "search") return;
    const { query } = now;
    if (query === undefined) replaceAddress(state.asked.peek());
    else if (questionOf(query) !== state.asked.peek()) {
      state.typed.value = query;
      state.ask(query);
    }
  }, [at, state]);
  useEffect(() => {
    const key = session.key.peek();
    return () => {
      state.stop();
      if (key !== null && route.peek().view === "search") replaceAddress(""); // what was asked with a key goes with it
    };
  }, [state]);
}

/** Search anew when the query, the mode or the filters change, and when the service is back. */
function useSearching(state: SearchState): void {
  const { asked, mode, chosen } = state;
  useEffect(() => state.run(), [state, asked.value, mode.value, chosen.value]);
  const offline = connection.offline.value;
  useEffect(() => {
    const loading = state.loader.current.peek();
    if (!offline && loading.state === "failed" && loading.error.kind === "offline") state.run();
  }, [state, offline]);
}

function useSlash(focusBox: () => void): void {
  const shown = route.value.view === "search";
  useEffect(() => {
    if (!shown || !slash.value) return undefined;
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "/" || !isPlain(event) || isTyping(event.target) || document.querySelector("dialog[open]"))
        return;
      event.preventDefault();
      focusBox();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [shown, slash.value]);
}

/** Who comes back from a document is put at the passage that led there, once the page has put them at its beginning. */
function useReturn(state: SearchState, list: RankingProps["list"]): void {
  const { view } = route.value;
  const before = useRef(view);
  useEffect(() => {
    const fromDocument = before.current === "document" && view === "search";
    before.current = view;
    if (!fromDocument) return undefined;
    const frame = requestAnimationFrame(() => focusItem(list, state.active.peek()));
    return () => cancelAnimationFrame(frame);
  }, [view, state, list]);
}
