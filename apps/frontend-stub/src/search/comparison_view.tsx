import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, type Result, type SearchBody, type SearchResults } from "../client/api";
import { answerOf } from "../client/transport";
import { Loader, type Loading } from "../common/loader";
import { common } from "../common/messages";
import { ErrorNotice, Progress } from "../common/notices";
import { Name } from "../common/text";
import { visible } from "../common/visible";
import { href } from "../state/route";
import { keyOf, lines, movement, twins } from "./comparison";
import { comparisonTexts } from "./comparison_messages";
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

  useRanking(loaders.left, query, asked, left.value);
  useRanking(loaders.right, query, asked, right.value);
  if (query.trim() === "") return <p class="quiet">{say.noQuery}</p>;

  const [onLeft, onRight] = [resultsOf(loaders.left), resultsOf(loaders.right)];
  const drawn = lines(onLeft, onRight);
  return (
    <section class="comparison" aria-label={say.title}>
      <p class="quiet" role="status">
        {onLeft.length + onRight.length > 0 && say.common(drawn.length, Math.max(onLeft.length, onRight.length))}{" "}
        {say.hint}
      </p>
      <div class="comparison-columns">
        <Column side="left" mode={left} loader={loaders.left} other={onRight} pointed={pointed} />
        <Lines drawn={drawn} rows={Math.max(onLeft.length, onRight.length)} pointed={pointed} />
        <Column side="right" mode={right} loader={loaders.right} other={onLeft} pointed={pointed} />
      </div>
    </section>
  );
}

type Pointed = Signal<string | null>;
type ColumnParts = {
  side: Side;
  mode: Signal<Mode>;
  loader: Loader<SearchResults>;
  other: readonly Result[];
  pointed: Pointed;
};

function Column({ side, mode, loader, other, pointed }: ColumnParts) {
  const say = comparisonTexts();
  const loading = loader.current.value;
  const results = resultsOf(loader);
  const beside = twins(results, other);
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
      <State loading={loading} />
      {results.length > 0 && (
        <ol class="comparison-list" aria-busy={loading.state === "loading"}>
          {results.map((result, index) => (
            <Row key={keyOf(result)} result={result} other={beside[index]?.other ?? null} pointed={pointed} />
          ))}
        </ol>
      )}
      {loading.state === "done" && results.length === 0 && <p class="quiet">{say.none}</p>}
    </div>
  );
}

function State({ loading }: { loading: Loading<SearchResults> }) {
  if (loading.state === "failed") return <ErrorNotice error={loading.error} />;
  return loading.state === "loading" && (loading.slow || loading.value === null) ? (
    <Progress slow={loading.slow} />
  ) : null;
}

function Row({ result, other, pointed }: { result: Result; other: number | null; pointed: Pointed }) {
  const say = comparisonTexts();
  const key = keyOf(result);
  const kind = movement({ own: result.rank, other });
  const { citation } = result;
  const where = other === null ? say.alone : kind === "same" ? say.same(other) : say.there(other);
  const arrow = { up: "▲", down: "▼", same: "=", alone: "•" }[kind];
  const point = () => {
    pointed.value = key;
  };
  const leave = () => {
    pointed.value = null;
  };
  const place = { lineStart: citation.line_start, lineEnd: citation.line_end };
  const title = <Name>{result.title || result.external_id}</Name>;
  return (
    <li class="comparison-row" data-pointed={pointed.value === key} onPointerEnter={point} onPointerLeave={leave}>
      <span class="comparison-rank">{result.rank}</span>
      <div>
        {result.document_id === null ? (
          <span class="comparison-title">{title}</span>
        ) : (
          <a
            class="comparison-title"
            href={href({ view: "document", id: result.external_id, place })}
            onFocus={point}
            onBlur={leave}
          >
            {title}
          </a>
        )}
        <span class={`comparison-move ${kind} small`}>
          <span aria-hidden="true">{arrow}</span> {where}
        </span>
        <span class="comparison-text small quiet" dir="auto">
          {visible(result.text.slice(0, 240))} · {common().lines(citation.line_start, citation.line_end)}
        </span>
      </div>
    </li>
  );
}

/** The rows of both lists are of one height: a place needs no measuring. */
function Lines({ drawn, rows, pointed }: { drawn: ReturnType<typeof lines>; rows: number; pointed: Pointed }) {
  if (rows === 0) return <div />;
  return (
    <svg
      class="comparison-lines"
      viewBox={`0 0 100 ${rows}`}
      preserveAspectRatio="none"
      data-rows={rows}
      aria-hidden="true"
      style={{ height: `calc(${rows} * var(--row))` }}
    >
      {drawn.map(({ key, left, right, kind }) => (
        <path
          key={key}
          class={kind}
          data-pointed={pointed.value === key}
          d={`M 0 ${left - 0.5} C 50 ${left - 0.5} 50 ${right - 0.5} 100 ${right - 0.5}`}
        />
      ))}
    </svg>
  );
}

function useRanking(loader: Loader<SearchResults>, query: string, filters: string, mode: Mode): void {
  useEffect(() => {
    if (query.trim() === "") return undefined;
    const body = { query, mode, limit: COMPARED, filters: JSON.parse(filters) as SearchBody["filters"] };
    void loader.run((signal) => answerOf(api.POST("/search", { body: body as SearchBody, signal })));
    return () => loader.stop();
  }, [loader, query, filters, mode]);
}

/** A list that failed is not shown: lines to it would join what was never compared. */
function resultsOf(loader: Loader<SearchResults>): readonly Result[] {
  const loading = loader.current.value;
  return loading.state === "failed" ? NOTHING : (loading.value?.results ?? NOTHING);
}
