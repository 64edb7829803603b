import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Result, SearchResults } from "../client/api";
import { common } from "../common/messages";
import { sourceName } from "../common/sources";
import { Name, Passage } from "../common/text";
import { href, type Route } from "../state/route";
import { excerpt } from "./excerpt";
import { dayName, valueLabel } from "./facet_labels";
import { texts } from "./messages";
import { WhyPicture } from "./why_picture";

type Props = {
  result: Result;
  explanation: SearchResults["explanation"];
  /** Whether the list is entered here. */
  current: boolean;
  open: boolean;
  toggle: () => void;
  /** The focus came to it, or to something in it. */
  entered: () => void;
};

/** Return where a result's document is read, null where no document is behind it. */
export function placeOf({ document_id, external_id, citation }: Result): Extract<Route, { view: "document" }> | null {
  if (document_id === null) return null;
  const { line_start: lineStart, line_end: lineEnd, page } = citation;
  return { view: "document", id: external_id, place: { lineStart, lineEnd, ...(page !== null && { page }) } };
}

const PASSAGES = "artifact_chunks"; // what most results are, which goes without saying

/** A passage at its rank. */
export function ResultItem({ result, explanation, current, open, toggle, entered }: Props) {
  const say = texts();
  const id = useId();
  const place = placeOf(result);
  const title = <Name>{result.title || result.external_id}</Name>;
  return (
    <li onFocusCapture={entered}>
      <article class="card result" tabIndex={current ? 0 : -1} aria-labelledby={`${id}-rank ${id}-title`}>
        <header class="result-head">
          <span class="result-rank" id={`${id}-rank`}>
            <span class="visually-hidden">{say.rank(result.rank)}</span>
            <span aria-hidden="true">{result.rank}</span>
          </span>
          <h3 id={`${id}-title`}>{place ? <a href={href(place)}>{title}</a> : title}</h3>
        </header>
        <Where result={result} />
        <Text result={result} />
        <footer class="result-foot">
          <button
            type="button"
            class="button result-why"
            aria-expanded={open}
            aria-controls={open ? `${id}-why` : undefined}
            onClick={toggle}
          >
            {say.why}
          </button>
          <ul class="row result-sources" aria-label={say.foundBy}>
            {result.sources.map(({ source }) => (
              <li key={source} class="chip">
                <Name>{sourceName(source)}</Name>
              </li>
            ))}
          </ul>
        </footer>
        {open && (
          <div id={`${id}-why`}>
            <WhyPicture result={result} explanation={explanation} />
          </div>
        )}
      </article>
    </li>
  );
}

function Where({ result }: { result: Result }) {
  const { citation, collection, artifact_type, occurred_at, document_id } = result;
  const { path, page, line_start, line_end, recognition_confidence } = citation;
  const say = common();
  return (
    <p class="result-where quiet small">
      {path !== null && <Name>{path}</Name>}
      {page !== null && <span>{say.page(page)}</span>}
      {recognition_confidence !== null && <span>{say.recognized(recognition_confidence)}</span>}
      {document_id !== null && line_end > 0 && <span>{say.lines(line_start, line_end)}</span>}
      {collection !== PASSAGES && <Name>{valueLabel("collection", collection)}</Name>}
      {artifact_type !== "document" && <Name>{valueLabel("artifact_type", artifact_type)}</Name>}
      {occurred_at !== null && <time dateTime={occurred_at}>{dayName(occurred_at)}</time>}
    </p>
  );
}

function Text({ result }: { result: Result }) {
  const say = texts();
  const all = useSignal(false);
  const marks = result.highlights ?? [];
  const short = excerpt(result.text, marks);
  const cut = short.before || short.after;
  if (!cut || all.value)
    return (
      <>
        <Passage text={result.text} marks={marks} />
        {cut && <More all={all} label={say.showLess} />}
      </>
    );
  return (
    <>
      {short.before && <span class="quiet">…</span>}
      <Passage text={short.text.trimEnd()} marks={short.marks} />
      <More all={all} label={say.showAll} dots={short.after} />
    </>
  );
}

function More({ all, label, dots = false }: { all: { value: boolean }; label: string; dots?: boolean }) {
  return (
    <p class="result-more">
      {dots && <span class="quiet">… </span>}
      <button
        type="button"
        class="button plain"
        aria-expanded={all.value}
        onClick={() => {
          all.value = !all.value;
        }}
      >
        {label}
      </button>
    </p>
  );
}
