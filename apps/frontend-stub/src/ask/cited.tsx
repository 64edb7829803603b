import { visible } from "../common/visible";
import { CitationCard } from "./citation_card";
import { partsOf } from "./citations";
import { type Citing, cardId, isOpen, type Opened } from "./citing";
import { texts } from "./messages";

/** A text of the answer, each citation in it a button that opens its passage. */
export function CitedText({ text, at, citing }: { text: string; at: string; citing: Citing }) {
  return (
    <>
      {partsOf(text, citing.known).map(({ text: part, n }, index) => {
        const key = `${index}`;
        return n === null ? (
          <span key={key}>{visible(part)}</span>
        ) : (
          <CitationButton key={key} place={{ at, n }} citing={citing} />
        );
      })}
    </>
  );
}

function CitationButton({ place, citing }: { place: Opened; citing: Citing }) {
  const open = isOpen(citing, place);
  return (
    <button
      type="button"
      class="cite"
      aria-label={texts().cite(place.n)}
      aria-expanded={open}
      aria-controls={open ? cardId(citing, place) : undefined}
      title={visible(citing.known.get(place.n)?.title ?? "")}
      onClick={(event) => citing.toggle(place, event.currentTarget)}
    >
      [{place.n}]
    </button>
  );
}

/** The passage that is open at a part of the answer, if one is. */
export function OpenedAt({ at, citing }: { at: string; citing: Citing }) {
  const { opened, known, passages, close } = citing;
  const citation = opened?.at === at ? known.get(opened.n) : undefined;
  if (opened === null || citation === undefined) return null;
  const id = cardId(citing, opened);
  return <CitationCard key={id} id={id} citation={citation} passages={passages} close={close} />;
}
