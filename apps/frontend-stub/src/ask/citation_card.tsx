import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { AnswerCitation, Result } from "../client/api";
import { common } from "../common/messages";
import { Name, Passage } from "../common/text";
import { href } from "../state/route";
import { excerptOf, passageOf, placeOf } from "./citations";
import { texts } from "./messages";

type Given = { citation: AnswerCitation; passages: readonly Result[]; id: string; close: () => void };

/** The passage behind a citation, with the quoted words marked; the words alone, for who may not see passages. */
export function CitationCard({ citation, passages, id, close }: Given) {
  const say = texts();
  const title = useId();
  const passage = passageOf(citation, passages);
  const card = useRef<HTMLElement>(null);
  useEffect(() => card.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <section id={id} ref={card} class="citation-card" aria-labelledby={title}>
      <div class="citation-head">
        <h3 id={title}>
          <span class="visually-hidden">{say.passageOf(citation.n)}: </span>
          <Name>{citation.title}</Name>
        </h3>
        <button type="button" class="button plain icon" aria-label={common().close} onClick={close}>
          ×
        </button>
      </div>
      <p class="quiet small">
        <Where citation={citation} />
      </p>
      {passage === null ? <Quote quote={citation.quote} /> : <Excerpt quote={citation.quote} text={passage.text} />}
      {passage?.document_id !== null && (
        <a class="citation-link" href={href({ view: "document", id: citation.external_id, place: placeOf(citation) })}>
          {say.openDocument}
        </a>
      )}
    </section>
  );
}

/** The path, and the page or the lines. */
export function Where({ citation }: { citation: AnswerCitation }) {
  const { path, external_id, page, line_start, line_end, recognition_confidence } = citation;
  return (
    <>
      <Name>{path ?? external_id}</Name>
      {" · "}
      <span class="nowrap">{page === null ? common().lines(line_start, line_end) : common().page(page)}</span>
      {recognition_confidence !== null && ` · ${common().recognized(recognition_confidence)}`}
    </>
  );
}

function Quote({ quote }: { quote: string }) {
  return (
    <>
      <p class="small quiet">{texts().quoteOnly}:</p>
      <blockquote>
        <Passage text={quote} marks={[{ start: 0, end: quote.length }]} />
      </blockquote>
    </>
  );
}

function Excerpt({ quote, text }: { quote: string; text: string }) {
  const all = useSignal(false);
  const excerpt = excerptOf(quote, text, all.value);
  return (
    <>
      {excerpt.marks.length === 0 && <Quote quote={quote} />}
      <Passage text={excerpt.text} marks={excerpt.marks} />
      {!excerpt.whole && (
        <button type="button" class="button plain whole" onClick={() => (all.value = true)}>
          {texts().wholePassage}
        </button>
      )}
    </>
  );
}
