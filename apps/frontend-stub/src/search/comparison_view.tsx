import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, type Degraded, type Result, type SearchBody, type SearchResults } from "../client/api";
import { answerOf } from "../client/transport";
import { DegradedNotice } from "../common/degraded";
import { Loader, type Loading } from "../common/loader";
import { common } from "../common/messages";
import { ErrorNotice, Progress } from "../common/notices";
import { Name } from "../common/text";
import { visible } from "../common/visible";
import { connection } from "../state/connection";
import { href } from "../state/route";
import { keyOf, lines, movement, type Twin, twins } from "./comparison";
import { comparisonTexts } from "./comparison_messages";
import { excerpt } from "./excerpt";
import { placeOf } from "./result_item";
import "./comparison.css";

const MODES = ["dense", "sparse", "hybrid"] as const;
type Mode = (typeof MODES)[number];
type Side = "left" | "right";

const COMPARED = 10;
const NOTHING: readonly Result[] = [];

/** The rankings of one search in two modes side by side, with lines between the same passages. */
export function Comparison({ query, filters }: { query: string; filters: SearchBody["filters"] }) {
  const say = comparisonTexts();
  const left = useSignal<Mode>("dense");
  const right = useSignal<Mode>("hybrid");
  const pointed = useSignal<string | null>(null);
  const loaders = useMemo(() => ({ left: new Loader<SearchResults>(), right: new Loader<SearchResults>() }), []);
  const asked = JSON.stringify(filters ?? null);

  const again = {
    left: useRanking(loaders.left, query, asked, left.value),
    right: useRanking(loaders.right, query, asked, right.value),
  };
  if (query.trim() === "") return <p class="quiet">{say.noQuery}</p>;

  const [onLeft, onRight] = [resultsOf(loaders.left), resultsOf(loaders.right)];
  const both = [loaders.left, loaders.right].map((loader) => loader.current.value);
  const compared = both.every(({ state }) => state === "done"); // else they may be answers to two queries
  const drawn = compared ? lines(onLeft, onRight) : [];
  const waiting = both.filter((each) => each.state === "loading" && (each.slow || each.value === null));
  return (
    <section class="comparison" aria-label={say.title}>
      <p class="quiet" role="status">
        {compared &&
          onLeft.length + onRight.length > 0 &&
          say.common(drawn.length, Math.max(onLeft.length, onRight.length))}{" "}
        {say.hint}
      </p>
      <DegradedNotice degraded={degradedOf(both)} />
      <Instead side="left" wanted={left.value} loading={both[0]} />
      <Instead side="right" wanted={right.value} loading={both[1]} />
      {waiting.length > 0 && <Progress slow={waiting.some((each) => each.state === "loading" && each.slow)} />}
      <div class="comparison-columns" style={{ "--rows": Math.max(onLeft.length, onRight.length, 1) }}>
        <Column
          side="left"
          mode={left}
          loader={loaders.left}
          other={compared ? onRight : null}
          pointed={pointed}
          again={again.left}
        />
        <Lines drawn={drawn} rows={Math.max(onLeft.length, onRight.length)} pointed={pointed} />
        <Column
          side="right"
          mode={right}
          loader={loaders.right}
          other={compared ? onLeft : null}
          pointed={pointed}
          again={again.right}
        />
      </div>
    </section>
  );
}

/** A mode that cannot be served gives way to another one: its list is not what stands above it. */
function Instead({ side, wanted, loading }: { side: Side; wanted: Mode; loading: Loading<SearchResults> | undefined }) {
  const say = comparisonTexts();
  if (loading?.state !== "done" || loading.value.mode_used === wanted) return null;
  return (
    <p class="notice" role="status">
      {say.instead(say[side], say[wanted], say[loading.value.mode_used])}
    </p>
  );
}

type Pointed = Signal<string | null>;
type ColumnParts = {
  side: Side;
  mode: Signal<Mode>;
  loader: Loader<SearchResults>;
  /** Null as long as there is nothing to compare with. */
  other: readonly Result[] | null;
  pointed: Pointed;
  again: () => void;
};

function Column({ side, mode, loader, other, pointed, again }: ColumnParts) {
  const say = comparisonTexts();
  const loading = loader.current.value;
  const results = resultsOf(loader);
  const beside = other && twins(results, other);
  return (
    <div class="comparison-column">
      <label class="comparison-mode">
        <span class="quiet small">{say[side]}</span>
        <select
          value={mode.value}
          onChange={(event) => {
            mode.value = event.currentTarget.value as Mode;
          }}
        >
          {MODES.map((each) => (
            <option key={each} value={each}>
              {say[each]}
            </option>
          ))}
        </select>
      </label>
      {loading.state === "failed" && <ErrorNotice error={loading.error} retry={again} />}
      {results.length > 0 && (
        <ol class="comparison-list" aria-busy={loading.state === "loading"}>
          {results.map((result, index) => (
            <Row key={keyOf(result)} result={result} twin={beside?.[index]} pointed={pointed} />
          ))}
        </ol>
      )}
      {loading.state === "done" && results.length === 0 && <p class="quiet">{say.none}</p>}
    </div>
  );
}

function Row({ result, twin, pointed }: { result: Result; twin: Twin | undefined; pointed: Pointed }) {
  const key = keyOf(result);
  const point = () => {
    pointed.value = key;
  };
  const leave = () => {
    pointed.value = null;
  };
  const place = placeOf(result);
  const title = <Name>{result.title || result.external_id}</Name>;
  return (
    <li class="comparison-row" data-pointed={pointed.value === key} onPointerEnter={point} onPointerLeave={leave}>
      <span class="comparison-rank">{result.rank}</span>
      <div>
        {place === null ? (
          <span class="comparison-title">{title}</span>
        ) : (
          <a class="comparison-title" href={href(place)} onFocus={point} onBlur={leave}>
            {title}
          </a>
        )}
        {twin && <Moved twin={twin} />}
        <span class="comparison-text small quiet" dir="auto">
          {visible(excerpt(result.text, [], { points: 240 }).text)} <Where result={result} />
        </span>
      </div>
    </li>
  );
}

function Moved({ twin }: { twin: Twin }) {
  const say = comparisonTexts();
  const kind = movement(twin);
  const where = twin.other === null ? say.alone : kind === "same" ? say.same(twin.other) : say.there(twin.other);
  const arrow = { up: "▲", down: "▼", same: "=", alone: "•" }[kind];
  return (
    <span class={`comparison-move ${kind} small`}>
      <span aria-hidden="true">{arrow}</span> {where}
    </span>
  );
}

function Where({ result: { citation } }: { result: Result }) {
  const say = common();
  if (citation.page !== null) return <>· {say.page(citation.page)}</>;
  return citation.line_end > 0 ? <>· {say.lines(citation.line_start, citation.line_end)}</> : null;
}

/** The rows of both lists are of one height, that of the highest: a place needs no measuring. */
function Lines({ drawn, rows, pointed }: { drawn: ReturnType<typeof lines>; rows: number; pointed: Pointed }) {
  return (
    <div class="comparison-lines">
      <svg viewBox={`0 0 100 ${Math.max(rows, 1)}`} preserveAspectRatio="none" aria-hidden="true">
        {drawn.map(({ key, left, right, kind }) => (
          <path
            key={key}
            class={kind}
            data-pointed={pointed.value === key}
            d={`M 0 ${left - 0.5} C 50 ${left - 0.5} 50 ${right - 0.5} 100 ${right - 0.5}`}
          />
        ))}
      </svg>
    </div>
  );
}

/** Rank anew when what is asked changes, and when the service is back. Return what ranks it again. */
function useRanking(loader: Loader<SearchResults>, query: string, filters: string, mode: Mode): () => void {
  const tries = useSignal(0);
  const again = () => {
    tries.value += 1;
  };
  useEffect(() => {
    if (query.trim() === "") return undefined;
    const body = { query, mode, limit: COMPARED, filters: JSON.parse(filters) as SearchBody["filters"] };
    void loader.run((signal) => answerOf(api.POST("/search", { body: body as SearchBody, signal })));
    return () => loader.stop();
  }, [loader, query, filters, mode, tries.value]);
  const offline = connection.offline.value;
  useEffect(() => {
    const loading = loader.current.peek();
    if (!offline && loading.state === "failed" && loading.error.kind === "offline") again();
  }, [loader, offline]);
  return again;
}

/** Return which sources did not do their part, on one side or on both. */
function degradedOf(both: readonly Loading<SearchResults>[]): Degraded[] {
  const all = both.flatMap((each) => (each.state === "done" ? each.value.degraded : []));
  return [...new Map(all.map((each) => [each.source, each])).values()];
}

/** A list that failed is not shown: lines to it would join what was never compared. */
function resultsOf(loader: Loader<SearchResults>): readonly Result[] {
  const loading = loader.current.value;
  return loading.state === "failed" ? NOTHING : (loading.value?.results ?? NOTHING);
}
